import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { HttpAnswer, HttpRequest } from "../http/send.ts";
import type { Operation } from "./operations.ts";
import { textOf } from "./parameters.ts";

/** What a link of an answer leads to. */
export interface Followed {
  readonly operation: Operation;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A request, and what it was made of. */
export interface Asked {
  readonly operation: Operation;
  readonly args: Readonly<Record<string, unknown>>;
  readonly request: HttpRequest;
}

/** The operations that an answer's links lead to, by the names of the links. Those that lead to none of `operations` are left out. */
export function linksOf(
  operations: readonly Operation[],
  asked: Asked,
  answer: HttpAnswer,
): ReadonlyMap<string, Followed> {
  const { responses } = asked.operation;
  const { status } = answer;
  const response = responses[status] ?? responses[`${Math.trunc(status / 100)}XX`] ?? responses["default"];
  const links = isJsonObject(response) && isJsonObject(response["links"]) ? response["links"] : {};
  const found = new Map<string, Followed>();
  for (const [name, each] of Object.entries(links)) {
    const link = isJsonObject(each) ? each : {};
    const operation = operations.find((candidate) => isTarget(link, candidate));
    if (operation === undefined) continue;
    const args: Record<string, unknown> = {};
    for (const [key, expression] of Object.entries(
      isJsonObject(link["parameters"]) ? link["parameters"] : {},
    )) {
      const parameter = operation.parameters.find(
        (own) => key === own.name || key === `${own.place}.${own.name}`,
      );
      if (parameter !== undefined) args[parameter.argument] = valueOf(expression, asked, answer);
    }
    if (link["requestBody"] !== undefined) args["body"] = valueOf(link["requestBody"], asked, answer);
    found.set(name, { operation, args });
  }
  return found;
}

function isTarget({ operationId, operationRef }: JsonObject, { id, method, path }: Operation): boolean {
  if (typeof operationId === "string") return operationId === id;
  if (typeof operationRef !== "string") return false;
  const pointer = `#/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}/${method.toLowerCase()}`;
  return operationRef === pointer || decodeURIComponent(operationRef) === pointer;
}

/** A runtime expression, a text with such in braces, or a value (OpenAPI 3.1, 4.8.20.4). */
function valueOf(expression: unknown, asked: Asked, answer: HttpAnswer): unknown {
  if (typeof expression !== "string") return expression;
  if (expression.startsWith("$")) return evaluated(expression, asked, answer);
  return expression.replaceAll(/\{(\$[^}]+)\}/gu, (_, inner: string) =>
    textOf(evaluated(inner, asked, answer) ?? ""),
  );
}

function evaluated(expression: string, { operation, args, request }: Asked, answer: HttpAnswer): unknown {
  if (expression === "$url") return request.url;
  if (expression === "$method") return request.method;
  if (expression === "$statusCode") return answer.status;
  const [, side, where = "", name = ""] =
    /^\$(request|response)\.(header|query|path|body)[.#]?(.*)$/u.exec(expression) ?? [];
  if (where === "body") return at(side === "request" ? args["body"] : jsonOf(answer), name);
  if (side === "response") return where === "header" ? answer.headers[name.toLowerCase()] : undefined;
  const parameter = operation.parameters.find((own) => own.place === where && own.name === name);
  return parameter === undefined ? undefined : args[parameter.argument];
}

/** The body of an answer as JSON; undefined if it is none. */
export function jsonOf({ text }: HttpAnswer): unknown {
  try {
    return text === undefined || text === "" ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** What a JSON pointer names (RFC 6901). */
export function at(value: unknown, pointer: string): unknown {
  return pointer
    .split("/")
    .slice(1)
    .reduce<unknown>((inside, step) => {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      const members =
        Array.isArray(inside) || isJsonObject(inside) ? (inside as Readonly<Record<string, unknown>>) : {};
      return Object.hasOwn(members, name) ? members[name] : undefined;
    }, value);
}
