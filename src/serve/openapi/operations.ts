import type { ToolAnnotations } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { assertSamePath } from "../http/request-template.ts";
import type { HttpRequest } from "../http/send.ts";
import {
  readBody,
  type Body,
  inHeader,
  inPath,
  inQuery,
  readParameter,
  type Parameter,
} from "./parameters.ts";
import { type OpenApiDocument, Schemas } from "./document.ts";
import type { Proof, Security } from "./security.ts";

/** An operation of a document, as a tool needs it. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tags: readonly string[];
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly annotations: ToolAnnotations;
  /** The arguments, as JSON Schema of an object. */
  readonly inputSchema: JsonObject;
  readonly parameters: readonly Parameter[];
  /** As in the document, with what they refer to. */
  readonly responses: JsonObject;
  /** The request with these arguments, at a server whose address does not end with a slash. */
  readonly request: (
    server: string,
    args: Readonly<Record<string, unknown>>,
    boundary: string,
  ) => HttpRequest;
}

export interface ReadOperations {
  readonly operations: readonly Operation[];
  /** What of the document is not supported, or cannot be served. */
  readonly problems: readonly string[];
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;

/** Its argument for the body. */
const bodyArgument = "body";

/** The operations of a document that `isChosen`. An operation that cannot be served is left out, and named. */
export function readOperations(
  document: OpenApiDocument,
  security: Security,
  isChosen: (operation: Pick<Operation, "id" | "method" | "path" | "tags">) => boolean,
): ReadOperations {
  const operations: Operation[] = [];
  const problems: string[] = [];
  const { paths, webhooks } = document.root;
  if (isJsonObject(webhooks))
    problems.push("webhooks are not supported: its requests to you are not received");
  for (const [path, item] of Object.entries(isJsonObject(paths) ? paths : {})) {
    let members: JsonObject;
    try {
      members = document.object(item);
    } catch (error) {
      problems.push(`${path}: it is left out: ${error instanceof Error ? error.message : String(error)}`);
      continue;
    }
    for (const method of methods) {
      const own = members[method];
      if (!isJsonObject(own)) continue;
      const name = { id: idOf(own, method, path), method: method.toUpperCase(), path, tags: tagsOf(own) };
      if (!isChosen(name)) continue;
      const say = (problem: string): void => void problems.push(`${name.method} ${path}: ${problem}`);
      try {
        if (own["callbacks"] !== undefined)
          say("callbacks are not supported: requests of the service are not received");
        assertNoOtherServer(document, own["servers"] ?? members["servers"]);
        operations.push(readOperation(document, security, members, own, name, say));
      } catch (error) {
        say(`it is left out: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  return { operations, problems };
}

/** Throws for a server of its own: a request with credentials goes to no other service than that of the document. */
function assertNoOtherServer({ root }: OpenApiDocument, given: unknown): void {
  const first = (servers: unknown): string | undefined => {
    const [server] = Array.isArray(servers) ? (servers as readonly unknown[]) : [];
    return isJsonObject(server) && typeof server["url"] === "string" ? server["url"] : undefined;
  };
  const url = first(given);
  if (url === undefined || url === first(root["servers"])) return;
  throw new Error(`it has a server of its own, ${url}, which is not supported`);
}

function idOf({ operationId }: JsonObject, method: string, path: string): string {
  if (typeof operationId === "string" && operationId !== "") return operationId;
  return `${method}${path.replaceAll(/[^A-Za-z0-9]+/gu, "_")}`.replace(/_$/u, "");
}

function tagsOf({ tags }: JsonObject): readonly string[] {
  return Array.isArray(tags) ? tags.map(String) : [];
}

function readOperation(
  document: OpenApiDocument,
  security: Security,
  item: JsonObject,
  own: JsonObject,
  name: Pick<Operation, "id" | "method" | "path" | "tags">,
  say: (problem: string) => void,
): Operation {
  const { method, path } = name;
  const schemas = new Schemas(document);
  const given = parametersOf(document, item, own);
  const parameters: Parameter[] = [];
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const each of given) {
    const isTaken = given.some((other) => other !== each && other["name"] === each["name"]);
    const argument =
      isTaken || each["name"] === bodyArgument
        ? `${String(each["in"])}_${String(each["name"])}`
        : String(each["name"]);
    const parameter = readParameter(each, argument);
    parameters.push(parameter);
    properties[argument] = schemaOf(document, each, schemas);
    if (each["required"] === true || parameter.place === "path") required.push(argument);
  }
  const body = readBody(document, own["requestBody"], schemas);
  if (body !== undefined) {
    properties[bodyArgument] = body.schema;
    if (body.isRequired) required.push(bodyArgument);
  }
  const { definitions } = schemas;
  const prove = security.of(own["security"]);
  const text = (member: unknown): string | undefined =>
    typeof member === "string" && member !== "" ? member : undefined;
  const title = text(own["summary"]) ?? text(item["summary"]);
  const description = [title, text(own["description"])].filter((each) => each !== undefined).join("\n\n");
  return {
    ...name,
    title,
    description: description === "" ? `${method} ${path}` : description,
    annotations: annotationsOf(method),
    inputSchema: {
      type: "object",
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    },
    parameters,
    responses: responsesOf(document, own["responses"], say),
    request: (server, args, boundary) => ({
      ...requestOf({ method, path, parameters, body }, server, args, boundary),
      prove: async (request) => {
        const proof: Proof = { headers: {}, query: [], cookies: [] };
        await prove(proof);
        return withProof(request, proof);
      },
    }),
  };
}

/** Those of the operation take the place of those of its path. */
function parametersOf(document: OpenApiDocument, item: JsonObject, own: JsonObject): readonly JsonObject[] {
  const byPlace = new Map<string, JsonObject>();
  for (const list of [item["parameters"], own["parameters"]])
    for (const each of Array.isArray(list) ? list : []) {
      const parameter = document.object(each);
      const { name, in: place } = parameter;
      // A document cannot say these as parameters (OpenAPI 3.1, 4.8.12.2).
      if (place === "header" && /^(?:accept|content-type|authorization)$/iu.test(String(name))) continue;
      byPlace.set(`${String(place)} ${String(name)}`, parameter);
    }
  return [...byPlace.values()];
}

/** The answers without references. Of one that refers to nothing, no link is followed. */
function responsesOf(document: OpenApiDocument, given: unknown, say: (problem: string) => void): JsonObject {
  const found: Record<string, unknown> = {};
  try {
    for (const [status, each] of Object.entries(document.object(given))) {
      const { links, ...response } = document.object(each);
      const resolved = Object.entries(isJsonObject(links) ? links : {}).map(
        ([name, link]) => [name, document.object(link)] as const,
      );
      found[status] = { ...response, links: Object.fromEntries(resolved) };
    }
  } catch (error) {
    say(
      `its answers cannot be read, and links of them are not followed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return found;
}

function schemaOf(document: OpenApiDocument, parameter: JsonObject, schemas: Schemas): unknown {
  const { schema, content, description } = parameter;
  const [media] = Object.values(isJsonObject(content) ? content : {});
  const found = schemas.of(schema ?? document.object(media)["schema"]);
  return typeof description === "string" && isJsonObject(found) ? { description, ...found } : found;
}

function annotationsOf(method: string): ToolAnnotations {
  const readOnlyHint = method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE";
  const idempotentHint = readOnlyHint || method === "PUT" || method === "DELETE";
  return {
    readOnlyHint,
    idempotentHint,
    openWorldHint: true,
    ...(!readOnlyHint && { destructiveHint: method === "DELETE" }),
  };
}

interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
}

function requestOf(
  { method, path, parameters, body }: RequestParts,
  server: string,
  args: Readonly<Record<string, unknown>>,
  boundary: string,
): HttpRequest {
  let filled = path;
  const query: string[] = [];
  const cookies: string[] = [];
  const headers: Record<string, string> = { accept: "application/json, */*;q=0.8" };
  for (const parameter of parameters) {
    const value = args[parameter.argument];
    if (value === undefined) continue;
    const { name } = parameter;
    if (parameter.place === "path") filled = filled.replaceAll(`{${name}}`, () => inPath(parameter, value));
    else if (parameter.place === "query") query.push(...inQuery(parameter, value));
    else if (parameter.place === "header") headers[name.toLowerCase()] = inHeader(parameter, value);
    else cookies.push(...inQuery(parameter, value));
  }
  assertSamePath(path, path.replaceAll(/\{[^}]+\}/gu, "x"), filled);
  const all = query.join("&");
  const sent = cookies.join("; ");
  const value = args[bodyArgument];
  const written = body === undefined || value === undefined ? undefined : body.write(value, boundary);
  return {
    method,
    url: `${server}${filled}${all === "" ? "" : `?${all}`}`,
    headers: { ...headers, ...written?.headers, ...(sent !== "" && { cookie: sent }) },
    ...(written?.body !== undefined && { body: written.body }),
  };
}

function withProof(request: HttpRequest, { headers, query, cookies }: Proof): HttpRequest {
  const url = new URL(request.url);
  const asked = url.search === "" ? [] : url.search.slice(1).split("&");
  url.search = [...asked, ...query.filter((each) => !asked.includes(each))].join("&");
  const { cookie } = request.headers;
  const sent = [...(cookie === undefined ? [] : [cookie]), ...cookies].join("; ");
  return {
    ...request,
    url: url.href,
    headers: { ...request.headers, ...(sent !== "" && { cookie: sent }), ...headers },
  };
}
