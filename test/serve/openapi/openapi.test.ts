import { expect, it } from "vitest";
import { openapi } from "../../../src/serve/openapi/openapi.ts";
import type { OpenApiOptions } from "../../../src/serve/openapi/openapi-options.ts";
import { clientOf, gateway } from "../mcp/gateway.ts";
import { jobApi, json, service } from "./jobs.ts";

const credentials = { key: "k3y", login: { username: "ann", password: "pw" } };

async function serving(options: Partial<OpenApiOptions> & { readonly server: string }) {
  const source = openapi("jobs", { document: jobApi, credentials, allow: ["127.0.0.1"], ...options });
  const served = await gateway([source]);
  const client = await clientOf(served);
  return {
    call: (name: string, args?: Record<string, unknown>) => client.callTool(name, args),
    tools: async () => (await client.listTools()).tools.filter(({ name }) => !name.startsWith("task_")),
    problems: served.errors.map((error) => (error instanceof Error ? error.message : String(error))),
  };
}

it("sends a call as its document says, and follows the link of a 202 until the job is done", async () => {
  const { url, received } = await service(({ method }, response, times) => {
    if (method === "POST") json(response, 202, { id: "7/7" });
    else if (times < 3) json(response, 200, { status: "running" });
    else json(response, 200, { status: "done", result: 42 });
  });
  const { call, problems } = await serving({
    server: `${url}/v1/`,
    include: ["startJob"],
    operations: { startJob: { pending: { at: "/status", is: ["running"] } } },
    idempotencyHeader: "Idempotency-Key",
    respondAsync: true,
  });
  const result = await call("startJob", {
    path_kind: "a/b",
    header_kind: "x",
    tag: ["1", "2"],
    body: { name: "n" },
  });
  expect(result).toMatchObject({ structuredContent: { status: "done", result: 42 } });
  expect(received.map(({ method, url: at }) => `${method} ${at}`)).toEqual([
    "POST /v1/jobs/a%2Fb?tag=1&tag=2",
    ...Array<string>(3).fill("GET /v1/state/7%2F7"),
  ]);
  const [post] = received;
  expect(post?.headers).toMatchObject({ "x-key": "k3y", kind: "x", prefer: "respond-async" });
  expect(post?.headers["idempotency-key"]).toMatch(/./u);
  expect(JSON.parse(post?.body ?? "")).toEqual({ name: "n" });
  expect(problems).toEqual([expect.stringContaining("callbacks are not supported")]);
});

it("looks at the address of a 202 when the service says, and nowhere else", async () => {
  const { url, received } = await service(({ method, url: at }, response, times) => {
    if (method === "POST") {
      const location = at.includes("evil") ? "http://127.0.0.2:1/steal" : "/status/1";
      json(response, 202, {}, { location, "retry-after": "1" });
    } else if (times === 1) json(response, 202, {}, { "retry-after": "1" });
    else json(response, 200, { ok: true });
  });
  const { call } = await serving({ server: url, include: ["startJob"] });
  const args = { path_kind: "good", body: { name: "n" } };
  expect(await call("startJob", args)).toMatchObject({ structuredContent: { ok: true } });
  expect(received.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
  const refused = await call("startJob", { ...args, path_kind: "evil" });
  expect(JSON.stringify(refused)).toContain("another origin");
});

it("sends a read again, and nothing that may have had an effect", async () => {
  const { url, received } = await service(({ method }, response, times) => {
    if (method === "GET" && times === 1) json(response, 502, {});
    else if (method === "GET") json(response, 200, { id: "1" });
    else response.destroy();
  });
  const { call } = await serving({ server: url });
  expect(await call("getJob", { id: "1" })).toMatchObject({ structuredContent: { id: "1" } });
  const lost = await call("startJob", { path_kind: "a", body: { name: "n" } });
  expect(lost).toMatchObject({ isError: true });
  expect(JSON.stringify(lost)).toContain("not known whether the request had an effect");
  expect(received.filter(({ method }) => method === "POST")).toHaveLength(1);
});

it("sends and receives files", async () => {
  const { url, received } = await service(({ method }, response) => {
    if (method === "POST") json(response, 200, "stored");
    else
      response
        .writeHead(200, {
          "content-type": "image/png",
          "content-disposition": "attachment; filename=approval",
        })
        .end(Buffer.from([1, 2, 3]));
  });
  const { call } = await serving({ server: url });
  const file = Buffer.from("a file").toString("base64");
  expect(await call("upload", { body: { file, note: "n" } })).toMatchObject({
    content: [{ text: '"stored"' }],
  });
  expect(received[0]?.headers.authorization).toBe(`Basic ${Buffer.from("ann:pw").toString("base64")}`);
  expect(received[0]?.body).toMatch(
    /name="file"; filename="file"\r\ncontent-type: application\/octet-stream\r\n\r\na file\r\n/u,
  );
  expect(await call("picture")).toMatchObject({
    content: [{ type: "resource_link", name: "answer", mimeType: "image/png" }],
  });
});

it("names what of a document it leaves out, and why", async () => {
  const { tools, problems } = await serving({ server: "http://127.0.0.1:9" });
  expect((await tools()).map(({ name }) => name)).toEqual([
    "startJob",
    "getJob",
    "cancelJob",
    "upload",
    "picture",
  ]);
  expect(problems).toEqual([
    expect.stringContaining("POST /jobs/{kind}: callbacks are not supported"),
    expect.stringContaining("GET /secret: it is left out: it needs credentials for unknown"),
    expect.stringContaining("POST /odd: it is left out: a body of application/cbor is not supported"),
  ]);
});

it("has what a document of 3.0 says as JSON Schema, without what only answers have", async () => {
  const { tools } = await serving({ server: "http://127.0.0.1:9" });
  const start = (await tools()).find(({ name }) => name === "startJob");
  expect(start?.inputSchema).toMatchObject({
    required: ["path_kind", "body"],
    properties: { body: { $ref: "#/$defs/Job" } },
    $defs: {
      Job: {
        required: ["name"],
        properties: {
          after: { $ref: "#/$defs/Job" },
          size: { type: ["integer", "null"], exclusiveMinimum: 0 },
        },
      },
    },
  });
});

it("refuses addresses that are not public, unless they are allowed", async () => {
  const { call } = await serving({ server: "http://127.0.0.1:9", allow: [] });
  expect(JSON.stringify(await call("picture"))).toContain("may not be reached");
});

it.each(["..", ".", ""])("sends no request to another path than that of its operation: %j", async (id) => {
  const { url, received } = await service((_, response) => json(response, 200, {}));
  const { call } = await serving({ server: url });
  const refused = await call("cancelJob", { id });
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused)).toContain("would lead to another address");
  expect(received).toEqual([]);
});

it("gets tokens of OAuth 2 for a client, once for several calls", async () => {
  const { url, received } = await service(({ url: at }, response) => {
    if (at === "/token") json(response, 200, { access_token: "t0k", expires_in: 3600 });
    else json(response, 200, { ok: true });
  });
  const clientCredentials = { tokenUrl: `${url}/token`, scopes: {} };
  const document = {
    ...jobApi,
    security: [{ login: [] }],
    components: {
      ...jobApi.components,
      securitySchemes: { login: { type: "oauth2", flows: { clientCredentials } } },
    },
  };
  const { call } = await serving({
    document,
    server: url,
    include: ["getJob"],
    credentials: { login: { clientId: "id", clientSecret: "s" } },
  });
  for (const id of ["1", "2"])
    expect(await call("getJob", { id })).toMatchObject({ structuredContent: { ok: true } });
  expect(received.filter(({ url: at }) => at === "/token")).toHaveLength(1);
  expect(received.at(-1)?.headers.authorization).toBe("Bearer t0k");
});

it("looks at work with the credentials of now, also those of the address, which are in no answer", async () => {
  let given = 0;
  const { url, received } = await service(({ method, url: at, headers }, response, times) => {
    if (at === "/token" && times === 3) json(response, 503, {});
    else if (at === "/token") json(response, 200, { access_token: `t${++given}`, expires_in: 1 });
    else if (headers.authorization !== `Bearer t${given}` || !at.includes("api_key=k3y"))
      json(response, 401, {});
    else if (method === "POST") json(response, 202, {}, { location: "/status/1?of=a" });
    else if (times === 1) json(response, 202, {});
    else response.writeHead(200, { "content-type": "text/plain" }).end("x".repeat(300_000));
  });
  const clientCredentials = { tokenUrl: `${url}/token`, scopes: {} };
  const document = {
    ...jobApi,
    security: [{ login: [], key: [] }],
    components: {
      ...jobApi.components,
      securitySchemes: {
        login: { type: "oauth2", flows: { clientCredentials } },
        key: { type: "apiKey", in: "query", name: "api_key" },
      },
    },
  };
  const { call } = await serving({
    document,
    server: url,
    include: ["startJob"],
    credentials: { login: { clientId: "id", clientSecret: "s" }, key: "k3y" },
  });
  const result = JSON.stringify(await call("startJob", { path_kind: "a", body: { name: "n" } }));
  expect(result).toContain("has more than 262144 bytes");
  expect(result).not.toContain("k3y");
  const looks = received.filter(({ method }) => method === "GET");
  expect(looks.map(({ url: at }) => at)).toEqual(Array<string>(2).fill("/status/1?of=a&api_key=k3y"));
  expect(given).toBe(3);
});

it("reads references that lead back to themselves, and leaves out only what none leads to", async () => {
  const tree = "#/paths/~1trees/post/requestBody/content/application~1json/schema";
  const ok = { "200": { description: "Done" } };
  const body = (schema: object) => ({ content: { "application/json": { schema } } });
  const document = {
    openapi: "3.1.0",
    info: { title: "Circles", version: "1" },
    paths: {
      "/trees": {
        post: {
          operationId: "tree",
          requestBody: body({
            type: "object",
            properties: {
              left: { $ref: tree },
              pair: { $ref: "#/components/schemas/Pair" },
              other: { $ref: "#/components/schemas/Pair/properties/other" },
            },
          }),
          responses: ok,
        },
      },
      "/alias": {
        post: {
          operationId: "alias",
          requestBody: body({ $ref: "#/components/schemas/Here" }),
          responses: ok,
        },
      },
      "/round": { $ref: "#/paths/~1round" },
      "/elsewhere": { $ref: "elsewhere.yaml#/pets" },
      "/answers": {
        get: { operationId: "answers", responses: { "200": { $ref: "#/components/responses/Here" } } },
      },
    },
    components: {
      schemas: {
        Pair: {
          type: "object",
          properties: { other: { type: "object", properties: { n: { type: "integer" } } } },
        },
        Here: { $ref: "#/components/schemas/There" },
        There: { $ref: "#/components/schemas/Here" },
      },
      responses: {
        Here: { $ref: "#/components/responses/There" },
        There: { $ref: "#/components/responses/Here" },
      },
    },
  };
  const { url, received } = await service((_, response) => json(response, 200, { ok: true }));
  const { tools, problems, call } = await serving({ document, server: url, credentials: {} });
  expect(problems).toEqual([
    expect.stringMatching(/POST \/alias: it is left out: \S+ refers to itself/),
    expect.stringMatching(/\/round: it is left out: \S+ refers to itself/),
    expect.stringMatching(
      /\/elsewhere: it is left out: it refers to elsewhere.yaml#\/pets, which is outside/,
    ),
    expect.stringMatching(/GET \/answers: its answers cannot be read, .*: \S+ refers to itself/),
  ]);
  expect((await tools()).map(({ name }) => name)).toEqual(["tree", "answers"]);
  const nested = { left: { left: { left: { pair: { other: { n: 1 } } } } }, other: { n: 2 } };
  expect(await call("tree", { body: nested })).toMatchObject({ structuredContent: { ok: true } });
  expect(JSON.stringify(await call("tree", { body: { left: { other: { n: "two" } } } }))).toContain(
    "integer",
  );
  expect(received).toHaveLength(1);
});
