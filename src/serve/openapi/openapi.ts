import {
  fromJsonSchema,
  type CallToolResult,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { uncheckedSchema } from "../../runtime/tool/schema.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { HoldfastError } from "../../task/fault.ts";
import { millisecondsOf } from "../../task/time.ts";
import { exchange, statusRequest } from "../http/exchange.ts";
import {
  isRefused,
  jsonOf,
  refusalText,
  Sender,
  shown,
  type HttpAnswer,
  type HttpRequest,
} from "../http/send.ts";
import { checked, isNamed, type SourceTool, type ToolSource } from "../source.ts";
import { at } from "../template.ts";
import { definedOf } from "../../options/options.ts";
import { errorResult, jsonResult } from "../tool-settings.ts";
import { loadDocument, type OpenApiDocument } from "./document.ts";
import {
  assertOpenApiOptions,
  type OpenApiOptions,
  type OperationOptions,
  passedOn,
} from "./openapi-options.ts";
import { readOperations, type Operation } from "./operations.ts";
import { textOf } from "./parameters.ts";
import { Security } from "./security.ts";

/** What a link of an answer leads to. */
interface Followed {
  readonly operation: Operation;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A request, and what it was made of. */
interface Asked {
  readonly operation: Operation;
  readonly args: Readonly<Record<string, unknown>>;
  readonly request: HttpRequest;
}

/** The operations that an answer's links lead to, by the names of the links. Those that lead to none of `operations` are left out. */
function linksOf(
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

/** The longest answer that becomes a result; a longer one, or one that is no text, becomes a file. */
const maxAnswerBytes = 256 * 1024;

const longestName = 180;

const acting = /cancel|abort|stop|delete/iu;

/**
 * The operations of an OpenAPI document, of 3.0 or 3.1, as a source of tools. Each call is a durable request: sent again where it may be, looked at
 * until the service has done what it accepted with 202, and never sent twice without the service's knowledge. What the document uses that is not
 * supported is reported when it opens. Throws `configuration` for options that are wrong.
 *
 * ```ts
 * await serveTools(tasks, [
 *   openapi("shop", { document: "shop.yaml", include: ["tag:orders"], credentials: { apiKey: process.env.SHOP_KEY } }),
 * ]);
 * ```
 */
export function openapi(name: string, options: OpenApiOptions): ToolSource {
  const what = `openapi ${name}`;
  assertOpenApiOptions(what, options);
  return {
    name: what,
    open: async (host) => {
      const { tools, problems } = await OpenApiTools.read(what, options);
      for (const problem of problems) host.onError(new Error(`${what}: ${problem}`));
      host.setTools(tools);
      return { close: async () => undefined };
    },
    check: async () =>
      checked(what, async () => {
        const { tools, problems } = await OpenApiTools.read(what, options);
        return [
          { check: what, works: true, detail: `has ${tools.length} tools` },
          ...problems.map((detail) => ({ check: what, works: null, detail })),
        ];
      }),
  };
}

class OpenApiTools {
  readonly #options: OpenApiOptions;
  readonly #server: string;
  readonly #sender: Sender;
  /** All of the document, since links may lead to those that are not served. */
  readonly #operations: readonly Operation[];

  static async read(
    what: string,
    options: OpenApiOptions,
  ): Promise<{ readonly tools: readonly SourceTool[]; readonly problems: readonly string[] }> {
    const sender = new Sender(options.allow);
    const document = await loadDocument(what, options.document, sender);
    try {
      const server = serverOf(document, options.server);
      const security = new Security(document, options.credentials ?? {}, sender);
      const chosen = readOperations(document, security, (operation) => isChosen(operation, options));
      const { operations } = readOperations(document, security, () => true);
      const made = new OpenApiTools(options, server, sender, operations);
      const unknown = Object.keys(options.operations ?? {}).filter(
        (id) => !operations.some((each) => each.id === id),
      );
      if (unknown.length > 0)
        throw new Error(`operations has ${unknown.join(", ")}, which the document does not have`);
      return { tools: chosen.operations.map((each) => made.#tool(each)), problems: chosen.problems };
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new HoldfastError("configuration", `${what}: ${why}.`, { cause });
    }
  }

  private constructor(
    options: OpenApiOptions,
    server: string,
    sender: Sender,
    operations: readonly Operation[],
  ) {
    this.#options = options;
    this.#server = server;
    this.#sender = sender;
    this.#operations = operations;
  }

  #tool(operation: Operation): SourceTool {
    const { prefix = "", durable = true, operations = {} } = this.#options;
    const { id, annotations, inputSchema } = operation;
    const own: OperationOptions = Object.hasOwn(operations, id) ? (operations[id] ?? {}) : {};
    return {
      name: own.name ?? `${prefix}${id}`.replaceAll(/[^\w.-]/gu, "_"),
      config: {
        ...definedOf(operation, ["title", "description"]),
        annotations,
        inputSchema: inputOf(inputSchema),
        ...((own.durable ?? durable) ? { onCrash: "resume" } : { task: "forbidden" }),
        ...definedOf(own, passedOn),
      },
      handler: async (args, task) => this.#call(operation, own, args, task),
      approval: own.approval,
      preview: async (args) => shownRequest(this.#request(operation, args, "preview")),
    };
  }

  #request(operation: Operation, args: Readonly<Record<string, unknown>>, key: string): HttpRequest {
    const { headers = {}, idempotencyHeader, respondAsync = false } = this.#options;
    const request = operation.request(this.#server, args, `holdfast-${key.replaceAll(/\W/gu, "")}`);
    const changes = operation.annotations.readOnlyHint !== true;
    return {
      ...request,
      headers: {
        ...request.headers,
        ...Object.fromEntries(Object.entries(headers).map(([name, set]) => [name.toLowerCase(), set])),
        ...(respondAsync && changes && { prefer: "respond-async" }),
        ...(idempotencyHeader !== undefined && changes && { [idempotencyHeader.toLowerCase()]: key }),
      },
    };
  }

  async #call(
    operation: Operation,
    own: OperationOptions,
    args: Readonly<Record<string, unknown>>,
    task: TaskContext,
  ): Promise<CallToolResult> {
    const { retries = 5, idempotencyHeader, timeoutMs } = this.#options;
    const mayRepeat =
      own.mayRepeat ?? (operation.annotations.idempotentHint === true || idempotencyHeader !== undefined);
    const isPending = (answer: HttpAnswer): boolean => goesOn(answer, own.pending);
    const request = this.#request(operation, args, "links"); // links name what was asked
    const asked: Asked = { operation, args, request };
    let cancelling: HttpRequest | undefined;
    const linked = new Map<HttpAnswer, HttpRequest | undefined>();
    const prepare = async (answer: HttpAnswer): Promise<void> => {
      const links = [...linksOf(this.#operations, asked, answer)];
      const looking = links.find(([, { operation: to }]) => to.method === "GET")?.[1];
      const ending = links.find(
        ([name, { operation: to }]) => to.method !== "GET" && acting.test(`${name} ${to.id} ${to.method}`),
      )?.[1];
      linked.set(answer, looking && this.#request(looking.operation, looking.args, "look"));
      if (ending !== undefined) cancelling = this.#request(ending.operation, ending.args, "cancel");
    };
    const answer = await exchange(task, {
      sender: this.#sender,
      key: "request",
      request: (key) => this.#request(operation, args, key),
      mayRepeat,
      retries,
      maxBytes: maxAnswerBytes,
      timeoutMs: timeoutMs === undefined ? undefined : millisecondsOf(timeoutMs),
      prepare,
      isDone: (each) => !isPending(each),
      next: (each, from) => {
        const pointed = statusRequest(each, from, isPending(each));
        return pointed ?? (isPending(each) ? linked.get(each) : undefined);
      },
      cancel: () => cancelling,
    });
    return this.#result(task, answer);
  }

  async #result(task: TaskContext, answer: HttpAnswer): Promise<CallToolResult> {
    const { status, text = "", bytes, isLarge, url } = answer;
    if (isRefused(answer)) return errorResult(refusalText(answer));
    if (isLarge === true)
      return errorResult(
        `The answer of ${shown(url)} has more than ${maxAnswerBytes} bytes, which is more than a result can have.`,
      );
    if (bytes !== undefined) {
      const mimeType = answer.headers["content-type"]?.split(";")[0];
      const link = await task.artifact(fileName(answer), bytes, mimeType === undefined ? {} : { mimeType });
      return { content: [link] };
    }
    const json = jsonOf(answer);
    if (isJsonObject(json)) return jsonResult(json);
    return { content: [{ type: "text", text: text === "" ? `HTTP ${status}` : text }] };
  }
}

function goesOn(answer: HttpAnswer, pending: OperationOptions["pending"]): boolean {
  if (answer.status === 202) return true;
  if (pending === undefined || answer.status >= 300) return false;
  const found = at(jsonOf(answer), pending.at);
  return typeof found === "string" && pending.is.includes(found);
}

/** Whether the operation is named: by its id, a tag of it, or its method and path. */
function isChosen(
  { id, method, path, tags }: Pick<Operation, "id" | "method" | "path" | "tags">,
  { include, exclude = [] }: OpenApiOptions,
): boolean {
  const names = [id, `${method} ${path}`, ...tags.map((tag) => `tag:${tag}`)];
  const isIn = (patterns: readonly string[]): boolean => names.some((each) => isNamed(each, patterns));
  return (include === undefined || isIn(include)) && !isIn(exclude);
}

/** Without a slash at its end. Throws if there is none. */
function serverOf(document: OpenApiDocument, given: string | undefined): string {
  const { servers } = document.root;
  const first = Array.isArray(servers) ? document.object(servers[0]) : {};
  const variables = document.object(first["variables"]);
  const template = given ?? (typeof first["url"] === "string" ? first["url"] : "/");
  const url = template.replaceAll(/\{([^}]+)\}/gu, (_, name: string) =>
    textOf(document.object(variables[name])["default"] ?? ""),
  );
  if (!URL.canParse(url, document.url))
    throw new Error(`the document names no address of a server (${template}): set server`);
  return new URL(url, document.url).href.replace(/\/$/u, "");
}

/** A schema that cannot be checked here is checked by the service alone. */
function inputOf(schema: Record<string, unknown>): StandardSchemaWithJSON {
  const made = fromJsonSchema(schema as Parameters<typeof fromJsonSchema>[0]);
  try {
    void made["~standard"].validate({});
    return made;
  } catch {
    return uncheckedSchema(schema);
  }
}

function fileName({ url, headers }: HttpAnswer): string {
  const [, quoted, plain] =
    /filename="([^"]+)"|filename=([^;\s]+)/iu.exec(headers["content-disposition"] ?? "") ?? [];
  const last = new URL(url).pathname.split("/").at(-1);
  const name = (quoted ?? plain ?? last ?? "").replaceAll(/[^\w.-]/gu, "_");
  return /^(?:\.*|approval)$/u.test(name) ? "answer" : name.slice(-longestName); // the approval of the call is in the same journal
}

const secret = /authorization|cookie|key|token|secret/iu;

function shownRequest({ method, url, headers, body }: HttpRequest): string {
  const lines = Object.entries(headers).map(([name, set]) => `${name}: ${secret.test(name) ? "…" : set}`);
  const text = typeof body === "string" ? body : body === undefined ? "" : `(${body.length} bytes)`;
  return [`${method} ${shown(url)}${new URL(url).search === "" ? "" : "?…"}`, ...lines, "", text]
    .join("\n")
    .trim();
}
