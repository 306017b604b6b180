import { adminStatusOf, type AdminFaultCode } from "../admin-faults.ts";
import { routes, type AdminRoute } from "./routes.ts";
import { reference, type Schema } from "./schema.ts";
import { schemas } from "./schemas.ts";

/** The path of the document, below that of the endpoint. */
export const documentPath = "/openapi.json";

const json = (schema: Schema): Schema => ({ "application/json": { schema } });

const documented: Pick<AdminRoute, "method" | "path" | "operation" | "summary" | "answer" | "faults"> = {
  method: "GET",
  path: documentPath,
  operation: "openapi",
  summary: "This document",
  answer: { type: "object" },
  faults: [],
};

/** The statuses of a route's answers, as the document lists them; `default` stands for any other refusal. */
export function statusesOf({
  method,
  path,
  answer,
  faults,
}: Pick<AdminRoute, "method" | "path" | "answer" | "faults">): readonly string[] {
  const common: readonly AdminFaultCode[] = ["unauthenticated", "insufficient_scope"];
  // A path may not be text, and a query may have unknown parameters.
  const more: readonly AdminFaultCode[] = path === documentPath ? [] : ["invalid_params", "stopping"];
  const refused = new Set([...common, ...more, ...faults].map((code) => String(adminStatusOf(code))));
  if (method === "POST") for (const status of ["413", "415"]) refused.add(status);
  return [answer === undefined ? "204" : "200", ...[...refused].sort(), "default"];
}

/** The OpenAPI 3.1 document of an endpoint at `path`, made from the route table alone. */
export function openApiDocument(path: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of [...routes, documented]) {
    const methods = (paths[route.path] ??= {});
    methods[route.method.toLowerCase()] = operationOf(route);
  }
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
      schemas,
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

function operationOf(route: AdminRoute | typeof documented): object {
  const { operation, summary, path } = route;
  const query = "query" in route ? Object.entries(route.query ?? {}) : [];
  const body = "body" in route ? route.body : undefined;
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string", minLength: 1 },
    })),
    ...query.map(([name, parameter]) => ({ name, in: "query", ...parameter })),
  ];
  return {
    operationId: operation,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: json(reference(body)) } }),
    responses: Object.fromEntries(statusesOf(route).map((status) => [status, responseOf(status, route)])),
  };
}

const descriptions: Readonly<Record<string, string>> = {
  "200": "Done",
  "204": "Done",
  "400": "The request is not valid",
  "401": "The token is missing or not accepted",
  "403": "The token may only read, or the request's Host or Origin is not allowed",
  "404": "The task does not exist",
  "409": "The task's state does not allow this action",
  "413": "The request is too large",
  "415": "The body is not JSON",
  "500": "The task's stored data is damaged",
  "503": "The server is stopping, its store does not answer, or too many streams are open",
  default: "Another error",
};

function responseOf(status: string, route: Pick<AdminRoute, "answer">): object {
  const description = descriptions[status] ?? status;
  const { answer } = route;
  if (status === "204") return { description };
  if (status === "200" && "follow" in route) {
    const data = { type: "string", contentMediaType: "application/json", contentSchema: answer };
    const schema = { ...data, description: "The data of each server-sent event." };
    return { description: "A stream of server-sent events", content: { "text/event-stream": { schema } } };
  }
  return { description, content: json(status === "200" && answer ? answer : reference("Refusal")) };
}
