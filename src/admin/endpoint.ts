import * as z from "zod/mini";
import { didYouMean } from "../task/option-names.ts";
import { checkedInput, invalid, type Input, type Operation } from "./operation.ts";
import { acts, reads } from "./operations.ts";
import { described, type Schema } from "./shape.ts";

/** All operations, as an endpoint serves them. */
export const routes: readonly Operation[] = [...Object.values(reads), ...Object.values(acts)];

/** The operation at a path, with the members in it, or the methods that the path supports instead. */
export type Match =
  { readonly operation: Operation; readonly inPath: Input } | { readonly allowed: readonly string[] };

const split = routes.map((operation) => ({ operation, segments: operation.path.split("/") }));

/** `path` is relative to the endpoint, as sent; undefined if there is no such path. Throws `invalid_params` for a name that is not text. */
export function matchRoute(method: string, path: string): Match | undefined {
  const given = path.split("/");
  const found = split.filter(
    ({ segments }) =>
      given.length === segments.length &&
      segments.every((segment, place) =>
        nameIn(segment) === undefined ? segment === given[place] : given[place] !== "",
      ),
  );
  const hit = found.find(({ operation }) => operation.method === method);
  if (hit === undefined)
    return found.length === 0 ? undefined : { allowed: found.map(({ operation }) => operation.method) };
  const named = hit.segments.flatMap((segment, place) => {
    const name = nameIn(segment);
    return name === undefined ? [] : [[name, decoded(given[place] ?? "")] as const];
  });
  return { operation: hit.operation, inPath: Object.fromEntries(named) };
}

/** The input of a request. Throws `invalid_params` for what the operation does not take. */
export function inputOfRequest(
  operation: Operation,
  {
    inPath,
    search,
    body,
  }: { readonly inPath: Input; readonly search: URLSearchParams; readonly body: unknown },
): Input {
  const isRead = operation.method === "GET";
  const query = queryInput(isRead ? parametersOf(operation) : [], search);
  if (isRead || operation.method === "DELETE") return checkedInput(operation, { ...query, ...inPath });
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalid("The body must be a JSON object.");
  const repeated = Object.keys(inPath).find((name) => Object.hasOwn(body, name));
  if (repeated !== undefined) throw invalid(`The body must not contain ${repeated}: it is in the path.`);
  return checkedInput(operation, { ...body, ...inPath });
}

/** A parameter of a URL. */
export interface Parameter {
  readonly name: string;
  /** The member of the input that it is. */
  readonly of: string;
  readonly schema: Schema;
  /** `true` says that the member is null. */
  readonly isNull?: true;
}

/** The parameters in the query of a GET: what the operation takes, without what is in its path. */
export function parametersOf({ path, input, spelled = {}, nulls = {} }: Operation): readonly Parameter[] {
  return Object.entries(input.shape).flatMap(([of, member]): readonly Parameter[] => {
    if (path.includes(`{${of}}`)) return [];
    const schema = plain(member as Schema);
    const none = nulls[of];
    return [
      { name: spelled[of] ?? of, of, schema },
      ...(none === undefined
        ? []
        : [{ name: none.name, of, schema: described(z.boolean(), none.description), isNull: true as const }]),
    ];
  });
}

function queryInput(parameters: readonly Parameter[], search: URLSearchParams): Input {
  const names = parameters.map(({ name }) => name);
  for (const name of search.keys())
    if (!names.includes(name))
      throw invalid(`There is no parameter ${JSON.stringify(name)}.${didYouMean(name, names)}`);
  const input = new Map<string, unknown>();
  for (const { name, of, schema, isNull } of parameters) {
    if (!search.has(name)) continue;
    const value = valueIn(name, search.getAll(name), schema);
    if (isNull === true && value === false) continue;
    if (input.has(of)) throw invalid(`Give either ${of} or ${name}, not both.`);
    input.set(of, isNull === true ? null : value);
  }
  return Object.fromEntries(input);
}

function valueIn(name: string, values: readonly string[], schema: Schema): unknown {
  if (schema instanceof z.ZodMiniArray) return values;
  const [value = "", ...others] = values;
  if (others.length > 0) throw invalid(`The parameter ${name} must not be repeated.`);
  if (schema instanceof z.ZodMiniNumber) {
    if (!/^\d{1,15}$/.test(value)) throw invalid(`The parameter ${name} must be a whole number.`);
    return Number(value);
  }
  if (schema instanceof z.ZodMiniBoolean) {
    if (value !== "true" && value !== "false") throw invalid(`The parameter ${name} must be true or false.`);
    return value === "true";
  }
  return value;
}

/** What is left out of a query is not there, and no parameter is null. */
function plain(schema: Schema): Schema {
  return schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable
    ? plain(schema.def.innerType as Schema)
    : schema;
}

function nameIn(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1];
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid("A name in the path is not percent-encoded UTF-8.");
  }
}
