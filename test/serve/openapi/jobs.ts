import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A service that answers as `answer` says, and keeps what it is asked. */
export async function service(
  answer: (received: Received, response: ServerResponse, times: number) => void,
): Promise<{ readonly url: string; readonly received: readonly Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body };
      received.push(one);
      answer(one, response, received.filter((each) => each.method === method && each.url === url).length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** A job API of OpenAPI 3.0: with a link to the job's state, files, and each kind of security. */
export const jobApi = {
  openapi: "3.0.3",
  info: { title: "Jobs", version: "1.0.0" },
  servers: [{ url: "http://127.0.0.1:9/{base}", variables: { base: { default: "v1" } } }],
  security: [{ key: [] }],
  paths: {
    "/jobs/{kind}": {
      parameters: [{ $ref: "#/components/parameters/kind" }],
      post: {
        operationId: "startJob",
        summary: "Starts a job",
        tags: ["jobs"],
        parameters: [
          { name: "tag", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "kind", in: "header", schema: { type: "string" } },
        ],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Job" } } },
        },
        responses: {
          "202": {
            description: "It begins",
            links: {
              state: { operationId: "getJob", parameters: { id: "$response.body#/id" } },
              cancel: { operationId: "cancelJob", parameters: { id: "$response.body#/id" } },
            },
          },
        },
        callbacks: { done: {} },
      },
    },
    "/state/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: { operationId: "getJob", tags: ["jobs"], responses: { "200": { description: "Its state" } } },
      delete: { operationId: "cancelJob", responses: { "204": { description: "Cancelled" } } },
    },
    "/upload": {
      post: {
        operationId: "upload",
        security: [{ login: [] }],
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                properties: {
                  file: { type: "string", format: "binary" },
                  note: { type: "string", nullable: true },
                },
              },
            },
          },
        },
        responses: { "200": { description: "Stored" } },
      },
    },
    "/picture": {
      get: { operationId: "picture", security: [], responses: { "200": { description: "A picture" } } },
    },
    "/secret": { get: { operationId: "secret", security: [{ unknown: [] }], responses: {} } },
    "/odd": {
      post: { operationId: "odd", requestBody: { content: { "application/cbor": {} } }, responses: {} },
    },
  },
  components: {
    parameters: { kind: { name: "kind", in: "path", required: true, schema: { type: "string" } } },
    schemas: {
      Job: {
        type: "object",
        required: ["name", "id"],
        properties: {
          id: { type: "string", readOnly: true },
          name: { type: "string" },
          after: { $ref: "#/components/schemas/Job" },
          size: { type: "integer", minimum: 0, exclusiveMinimum: true, nullable: true },
        },
      },
    },
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "X-Key" },
      login: { type: "http", scheme: "basic" },
      unknown: { type: "http", scheme: "bearer" },
    },
  },
};
