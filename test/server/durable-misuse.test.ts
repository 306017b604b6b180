import { createRequire } from "node:module";
import { runInNewContext } from "node:vm";
import { McpServer, type RegisteredTool } from "@modelcontextprotocol/server";
import { createTasks, durable, type ServerFactory } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { making, serveDurable } from "./durable-server.ts";
import { text } from "../kit/messages.ts";

const store = memoryStore();
const makes = (factory: ServerFactory) => (): unknown => durable(factory, { store: memoryStore() });
const tool = (server: McpServer, task: unknown, more: object = {}, name = "report"): unknown =>
  // As JavaScript may call it.
  server.registerTool(name, { task: task as "optional", ...more }, () => text("x"));
const fault = (message: string): unknown =>
  expect.objectContaining({ code: "configuration", message: expect.stringContaining(message) as unknown });

it.each([
  ["yes", {}, 'has an invalid task: use "optional", "required" or an object of options, not "yes"'],
  ["forbidden", {}, "leave it out if the tool never runs as a task"],
  [{ mode: "never" }, {}, 'not "never"'],
  [{ ttl: 5 }, {}, 'task of tool "report" has no option "ttl". Did you mean ttlMs?'],
  [{ prepare: () => 1 }, {}, 'has no option "prepare"'],
  ["optional", { scopeChallenge: () => undefined }, "set its scopes in oauthResource"],
])("refuses a tool with task %j", (task, more, message) => {
  expect(makes(making((server) => void tool(server, task, more)))).toThrow(fault(message));
});

it("refuses what is no factory, and what a factory should not return", async () => {
  const wrong = {} as unknown as ServerFactory;
  expect(makes(wrong)).toThrow(fault("durable takes the function that makes your server"));
  const nothing = (() => undefined) as unknown as ServerFactory;
  expect(makes(nothing)).toThrow(fault("returned no McpServer"));
  const copy = createRequire(import.meta.url)("@modelcontextprotocol/server") as {
    McpServer: typeof McpServer;
  };
  const foreign = (): McpServer => new copy.McpServer({ name: "a", version: "1" });
  expect(makes(foreign)).toThrow(fault("a different copy of @modelcontextprotocol/server"));
  const late = durable(async () => wrong as unknown as McpServer, { store: memoryStore() });
  await expect(late.start()).rejects.toEqual(fault("returned no McpServer"));
});

it("refuses a function that returns the same server twice, before any client comes", async () => {
  const make = making((server) => void tool(server, "optional"));
  let one: McpServer | undefined;
  const same = (): McpServer => (one ??= make());
  await expect(durable(same, { store: memoryStore() }).start()).rejects.toEqual(
    fault("returned the same server twice"),
  );
});

it("takes the promise of another realm from an asynchronous function", async () => {
  const make = making((server) => void tool(server, "optional"));
  const later = (): Promise<McpServer> =>
    runInNewContext("Promise.resolve(made)", { made: make() }) as Promise<McpServer>;
  const server = durable(later, { store: memoryStore() });
  await server.start();
  await server.tasks.stop();
});

it("refuses a tool with task outside of durable", () => {
  createTasks({ store }).server(() => new McpServer({ name: "a", version: "1" }));
  const server = new McpServer({ name: "a", version: "1" });
  expect(() => tool(server, "optional")).toThrow(fault("was not created by a function given to durable()"));
  tool(server, undefined);
});

it("refuses changes that a durable tool cannot have", async () => {
  let registered: RegisteredTool | undefined;
  await serveDurable(
    making((server) => (registered = server.registerTool("a", { task: "optional" }, () => text("a")))),
  );
  expect(() => registered?.update({ name: "b" })).toThrow(
    fault('Tool "a" cannot be renamed to "b": its tasks are stored under its name'),
  );
  expect(() => registered?.update({ scopeChallenge: () => undefined })).toThrow(
    fault("set its scopes in oauthResource"),
  );
  // @ts-expect-error: what JavaScript can give
  expect(() => registered?.update()).toThrow(fault("was updated without changes"));
  registered?.remove();
  expect(() => registered?.enable()).toThrow(fault('Tool "a" was removed'));
});

it("says where a factory registers tools for some clients only, or too late", async () => {
  let registers = (_server: McpServer): void => undefined;
  const both = await serveDurable(
    making((server) => {
      tool(server, "optional");
      registers(server);
    }),
  );
  registers = (server) => void tool(server, "optional", {}, "later");
  expect((await both.peer.send("tools/list")).error?.code).toBe(-32603);
  expect(both.errors).toEqual([fault('Tool "later" was not registered when')]);

  let isFirst = true;
  const first = await serveDurable(
    making((server) => {
      if (isFirst) tool(server, "optional");
      isFirst = false;
    }),
  );
  expect((await first.peer.send("tools/list")).error?.code).toBe(-32603);
  expect(first.errors).toEqual([fault('Tool "report" was not registered for this client')]);

  const problem = Promise.withResolvers<unknown>();
  durable(
    making((server) =>
      setImmediate(() => {
        try {
          tool(server, "optional");
        } catch (error) {
          problem.resolve(error);
        }
      }),
    ),
    { store: memoryStore() },
  );
  expect(await problem.promise).toEqual(
    fault("was registered after the function given to durable() had returned"),
  );
});
