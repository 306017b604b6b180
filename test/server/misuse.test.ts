import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, durable } from "holdfast";
import { oauthResource } from "holdfast/auth";
import { connect } from "holdfast/client";
import { createFetchHandler, createNodeHandler, serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { prometheusMetrics } from "holdfast/prometheus";
import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import { expect, it } from "vitest";
import { openSdkV1Tasks } from "../../src/sdk-v1.ts";

// What JavaScript lets through: no compiler looks at these.
const misuse = (value: unknown): never => value as never;
const handler = async () => ({ content: [] });
const makeServer = (): McpServer => new McpServer({ name: "test", version: "1.0.0" });

/** A file that no refused store ever makes. */
const unused = join(tmpdir(), "holdfast-never-made.db");

async function messageOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "no error";
}

it.each<[string, () => unknown, ...string[]]>([
  [
    "no options",
    () => createTasks(misuse(undefined)),
    'needs store: a store, such as sqliteStore("tasks.db")',
  ],
  ["no store", () => createTasks(misuse({})), 'needs store: a store, such as sqliteStore("tasks.db")'],
  ["a typo in store", () => createTasks(misuse({ stroe: memoryStore() })), "Did you mean store?"],
  [
    "a path for a store",
    () => createTasks(misuse({ store: "tasks.db" })),
    'such as sqliteStore("tasks.db").',
  ],
  [
    "a store that was not made",
    () => createTasks(misuse({ store: sqliteStore })),
    "must be a store, such as",
  ],
  ["ttl", () => tasksWith({ ttl: 5 }), 'createTasks has no option "ttl"', "Did you mean ttlMs?"],
  ["a typo", () => tasksWith({ maxBodyByte: 5 }), '"maxBodyByte"', "Did you mean maxBodyBytes?"],
  ["another word", () => tasksWith({ colour: 5 }), 'createTasks has no option "colour".'],
  [
    "metrics for telemetry",
    () => tasksWith({ telemetry: prometheusMetrics() }),
    "what openTelemetry() returns",
  ],
  [
    "metrics for telemetry of a client",
    () => connect("http://localhost/mcp", { telemetry: misuse(prometheusMetrics()) }),
    "what openTelemetry() returns",
  ],
  ["a rate", () => tasksWith({ rates: { callsPerMinuet: 5 } }), "callsPerMinuet", "callsPerMinute?"],
  ["tasks as a tool's option", () => toolWith({ tasks: "required" }), 'Tool "t"', "Did you mean task?"],
  [
    "a word for task",
    () => toolWith({ task: "always" }),
    'task must be "optional", "required" or "forbidden"',
  ],
  ["a word for onCrash", () => toolWith({ onCrash: "retry" }), 'onCrash must be "auto", "resume" or "fail"'],
  [
    "no handler",
    () => someTasks().tool("t", {}, misuse(undefined)),
    'Tool "t" has no handler',
    "async (args",
  ],
  [
    "no options of a tool",
    () => someTasks().tool("t", misuse(handler), misuse(undefined)),
    "where its options belong",
  ],
  ["a JSON Schema", () => toolWith({ inputSchema: { type: "object" } }), "fromJsonSchema({ … }) of the SDK"],
  ["no name", () => someTasks().tool(misuse({}), misuse(handler), misuse(undefined)), "A tool needs a name"],
  [
    "a name that no task can have",
    () => someTasks().tool("é".repeat(251), {}, handler),
    "has 502 bytes, and 500",
  ],
  ["a server, not a function", () => someTasks().server(misuse(makeServer())), "tasks.server(() => new McpS"],
  [
    "the tasks themselves",
    () => serveHttp(misuse(someTasks())),
    "serveHttp(tasks.server(() => new McpServer(",
  ],
  ["an McpServer", () => serveHttp(misuse(makeServer())), "serveHttp takes what tasks.server returns"],
  ["the same on stdio", () => serveStdio(misuse(someTasks())), "serveStdio(tasks.server("],
  [
    "the same as a function",
    () => createFetchHandler(misuse(someTasks())),
    "createFetchHandler(tasks.server(",
  ],
  ["an option of serveHttp", () => serveHttp(taskServer(), misuse({ prot: 0 })), "Did you mean port?"],
  ["a port for a function", () => createFetchHandler(taskServer(), misuse({ port: 0 })), 'no option "port"'],
  ["an option of serveStdio", () => serveStdio(taskServer(), misuse({ input: 0 })), 'no option "input"'],
  [
    "an option of a store",
    () => sqliteStore(unused, misuse({ maxSize: 1 })),
    'sqliteStore has no option "maxSize"',
  ],
  ["a path that is none", () => sqliteStore(misuse(undefined)), "sqliteStore needs the path of a file"],
  [
    "a URL for a path",
    () => sqliteStore("postgres://u:p@db/tasks"),
    "not a URL with postgres://",
    "postgresStore",
  ],
  ["a URL of a file", () => sqliteStore("file:///var/tasks.db"), "not a URL with file://", "Give it a path"],
  [
    "a path for a URL",
    () => postgresStore("tasks.db"),
    "postgresStore needs a URL: postgres://HOST/DATABASE",
  ],
  ["a URL that is none", () => postgresStore(misuse(undefined)), "postgresStore needs a URL"],
  ["a rule of scopes", () => resourceWith({ scopes: { tool: {} } }), 'scopes has no option "tool"', "tools?"],
  ["an option of oauthResource", () => resourceWith({ scope: {} }), "Did you mean scopes?"],
  [
    "an option of cors",
    () => serveHttp(taskServer(), { cors: misuse({ origin: [] }) }),
    "Did you mean origins?",
  ],
  [
    "an option of SDK v1",
    () => openSdkV1Tasks(misuse({ store: memoryStore(), ttl: 5 })),
    "Did you mean ttlMs?",
  ],
  ["an option of connect", () => connect("http://127.0.0.1:9/mcp", misuse({ oninput: 0 })), "mean onInput?"],
])("names the mistake and the right form: %s", async (_what, act, ...parts) => {
  const message = await messageOf(act);
  for (const part of parts) expect(message).toContain(part);
});

it("does not print what is given for a store, which may have a password in it", async () => {
  const message = await messageOf(() => createTasks(misuse({ store: "postgres://ann:hunter2@db/tasks" })));
  expect(message).not.toContain("hunter2");
});

it("names a mistyped option of a call", async () => {
  const http = await serveHttp(taskServer(), { port: 0 });
  const client = await connect(http.url);
  const mistyped = misuse({ timeout: 5 });
  for (const call of [() => client.callTool("t", {}, mistyped), () => client.startTool("t", {}, mistyped)])
    expect(await messageOf(call)).toContain("Did you mean timeoutMs?");
  await client.close();
  await http.close();
});

it("says that tasks which only work take no requests", () => {
  const tasks = createTasks({ store: memoryStore(), roles: ["work"] });
  const serve = (): unknown => tasks.server(() => new McpServer({ name: "worker", version: "1" }));
  expect(serve).toThrow(expect.objectContaining({ code: "configuration" }));
  expect(serve).toThrow("Call start()");
});

it("says so of a durable server too, and only where it is to serve", async () => {
  const server = durable(makeServer, { store: memoryStore(), roles: ["work"] });
  for (const serve of [() => createNodeHandler(server), () => createFetchHandler(server)]) {
    expect(serve).toThrow(expect.objectContaining({ code: "configuration" }));
    expect(serve).toThrow("Call start()");
  }
  await server.tasks.start();
  await server.tasks.stop();
});

it("says that a store cannot be opened a second time, and what to do", async () => {
  const store = memoryStore();
  const before = createTasks({ store });
  await before.start();
  await before.stop();
  const message = await messageOf(() => createTasks({ store }).start());
  expect(message).toContain("cannot be opened again");
  expect(message).toContain("memoryStore() starts empty");
});

function someTasks() {
  return createTasks({ store: memoryStore() });
}

function tasksWith(options: object) {
  return createTasks({ store: memoryStore(), ...options });
}

function toolWith(options: object): void {
  someTasks().tool("t", misuse(options), handler);
}

function resourceWith(options: object) {
  return oauthResource(
    misuse({
      resource: new URL("https://reports.example.com/mcp"),
      authorizationServers: ["https://login.example.com"],
      verifier: { verifyAccessToken: async () => Promise.reject(new Error("none")) },
      ...options,
    }),
  );
}

function taskServer() {
  return someTasks().server(makeServer);
}

it.each<[string, () => unknown, string]>([
  ["returns nothing", () => () => undefined, "returned no McpServer"],
  [
    "always returns the same server",
    () => {
      const one = makeServer();
      return () => one;
    },
    "returned the same server twice",
  ],
  [
    "registers its tools on the same server again",
    () => {
      const one = makeServer();
      return () => {
        one.registerTool("own", {}, () => ({ content: [] }));
        return one;
      };
    },
    "failed when it was called again: Tool own is already registered. It is called for each client",
  ],
  [
    "makes a server of SDK v1",
    () => () => new McpServerV1({ name: "a", version: "1" }),
    "a server of SDK v1",
  ],
  [
    "makes a low-level server of SDK v1",
    () => () => new McpServerV1({ name: "a", version: "1" }).server,
    "a server of SDK v1",
  ],
])("does not start with a factory that %s, and says so", async (_, factoryOf, message) => {
  const tasks = createTasks({ store: memoryStore() });
  await expect(serveHttp(tasks.server(misuse(factoryOf())), { port: 0 })).rejects.toMatchObject({
    code: "configuration",
    message: expect.stringContaining(message) as string,
  });
});
