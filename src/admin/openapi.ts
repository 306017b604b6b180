import * as z from "zod/mini";
import { adminStatusOf, type AdminFaultCode, type Operation } from "./operation.ts";
import { shapeNames, text, type Schema } from "./shape.ts";
import { parametersOf, routes } from "./endpoint.ts";

/** The path of the document, below that of the endpoint. */
export const documentPath = "/openapi.json";

/** In the form of OpenAPI 3.1: JSON Schema 2020-12. */
type JsonSchema = Readonly<Record<string, unknown>>;

const refusal = z
  .object({ error: z.object({ code: text, message: text }) })
  .register(shapeNames, { id: "Refusal" });

const documented = { method: "GET", path: documentPath, id: "openapi", summary: "This document" } as const;

/** The OpenAPI 3.1 document of an endpoint at `path`, made from the table of operations alone. */
export function openApiDocument(path: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of routes)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = operationOf(operation);
  const content = json({ type: "object" });
  const responses = { "200": { description: "Done", content }, ...refusals(["401", "403", "default"]) };
  const { id: operationId, summary } = documented;
  paths[documentPath] = { get: { operationId, summary, responses } };
  return {
    openapi: "3.1.0",
    info: {
      title: "Holdfast admin endpoint",
      version: "1",
      description: "Lets operators inspect and manage a server's tasks. Every action is recorded.",
    },
    servers: [{ url: path }],
    security: [{ operator: [] }],
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        operator: {
          type: "http",
          scheme: "bearer",
          description: "A token that the endpoint's authenticate function accepts.",
        },
      },
    },
  };
}

function operationOf(operation: Operation): object {
  const { id: operationId, summary, method, path, gives, isStream, faults = [] } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const query = method === "GET" ? parametersOf(operation) : [];
  const parameters = [
    ...inPath.map((name) => ({ name, in: "path", required: true, schema: { type: "string", minLength: 1 } })),
    ...query.map(({ name, schema }) => {
      const { description, ...rest } = schemaOf(schema);
      return { name, in: "query", ...(description !== undefined && { description }), schema: rest };
    }),
  ];
  const common: readonly AdminFaultCode[] = [
    "unauthenticated",
    "insufficient_scope",
    "invalid_params",
    "stopping",
  ];
  const refused = [...common, ...faults].map((code) => String(adminStatusOf(code)));
  const refusing = [...new Set([...refused, ...(method === "POST" ? ["413", "415"] : [])])].sort();
  return {
    operationId,
    summary,
    "x-role": operation.role,
    ...(parameters.length > 0 && { parameters }),
    ...(method === "POST" && { requestBody: { required: true, content: json(bodyOf(operation, inPath)) } }),
    responses: {
      ...(gives === undefined
        ? { "204": { description: "Done" } }
        : {
            "200":
              isStream === true ? streamOf(gives) : { description: "Done", content: json(schemaOf(gives)) },
          }),
      ...refusals([...refusing, "default"]),
    },
  };
}

function bodyOf({ input }: Operation, inPath: readonly string[]): JsonSchema {
  const members = Object.entries(input.shape).filter(([name]) => !inPath.includes(name));
  const required = members
    .filter(([, member]) => !(member instanceof z.ZodMiniOptional))
    .map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([name, member]) => [name, schemaOf(member as Schema)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function streamOf(gives: Schema): object {
  const data = { type: "string", contentMediaType: "application/json", contentSchema: schemaOf(gives) };
  const schema = { ...data, description: "The data of each server-sent event." };
  return { description: "A stream of server-sent events", content: { "text/event-stream": { schema } } };
}

const descriptions: Readonly<Record<string, string>> = {
  "400": "The request is not valid",
  "401": "The token is missing or not accepted",
  "403":
    "The operator's role is not enough (x-role is the least), or the request's Host or Origin is not allowed",
  "404": "The task does not exist",
  "409": "The task's state does not allow this action",
  "413": "The request is too large",
  "415": "The body is not JSON",
  "500": "The task's stored data is damaged",
  "503": "The server is stopping, its store does not answer, or too many streams are open",
  default: "Another error",
};

function refusals(statuses: readonly string[]): object {
  const content = json(schemaOf(refusal));
  return Object.fromEntries(
    statuses.map((status) => [status, { description: descriptions[status] ?? status, content }]),
  );
}

function json(schema: JsonSchema): JsonSchema {
  return { "application/json": { schema } };
}

const uri = (id: string): string => `#/components/schemas/${id}`;

/** The shapes with names. */
function componentSchemas(): object {
  const { schemas } = z.toJSONSchema(shapeNames, { uri, io: "input", override });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
  );
}

/** A shape that has a name, by that. */
function schemaOf(schema: Schema): JsonSchema {
  const { id } = shapeNames.get(schema) ?? {};
  if (id !== undefined) return { $ref: uri(id) };
  if (schema instanceof z.ZodMiniOptional) return schemaOf(schema.def.innerType as Schema);
  const { description } = z.globalRegistry.get(schema) ?? {};
  if (schema instanceof z.ZodMiniArray)
    return {
      ...(description !== undefined && { description }),
      type: "array",
      items: schemaOf(schema.def.element as Schema),
    };
  const { $schema: _, ...inline } = z.toJSONSchema(schema, { io: "input", override });
  return inline;
}

/** Says shorter what means the same: a type or null, and any whole number. */
function override({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  const [of, none] = (jsonSchema.anyOf ?? []) as readonly z.core.JSONSchema.BaseSchema[];
  if (of?.type === undefined || of.enum !== undefined || none?.type !== "null") return;
  delete jsonSchema.anyOf;
  Object.assign(jsonSchema, of, { type: [of.type, "null"] });
}
