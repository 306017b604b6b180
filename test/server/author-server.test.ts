import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { AuthorServers, type AuthorServer, type ServerFactory } from "../../src/server/author-server.ts";
import { PlainPolicies, type PlainOptions } from "../../src/server/plain/plain-policies.ts";
import { ListChanges } from "../../src/server/tool-list.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { text } from "../kit/messages.ts";

const nobody = { principal: null, session: undefined };
const plain = { plain: "ticket", plainDeadlineMs: 1_000, plainGraceMs: 0, pollingTools: {} } as const;
const makeServer = (): McpServer => new McpServer({ name: "jobs", version: "1.0.0" });

const fail = (error: unknown): never => {
  throw error;
};

function serversOf(
  registry: Registry,
  factory: ServerFactory = makeServer,
  policies: PlainOptions = plain,
): AuthorServers {
  return new AuthorServers({
    factory,
    registry,
    policies: new PlainPolicies(registry, policies),
    changes: new ListChanges(registry, new FakeClock(), fail),
    onError: fail,
  });
}

/** A zod schema, and how often its JSON form was made. */
function countingSchema(): { readonly schema: z.ZodObject; readonly converted: () => number } {
  const schema = z.object({ month: z.string() });
  const standard = schema["~standard"];
  let count = 0;
  const input: typeof standard.jsonSchema.input = (options) => {
    count += 1;
    return standard.jsonSchema.input(options);
  };
  const counting = { ...standard, jsonSchema: { ...standard.jsonSchema, input } };
  Object.defineProperty(schema, "~standard", { value: counting });
  return { schema, converted: () => count };
}

async function clientOf({ mcp }: AuthorServer): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1.0.0" });
  await Promise.all([mcp.connect(far), client.connect(near)]);
  return client;
}

it("lists the tools on each server, and makes the JSON form of their schemas once", async () => {
  const registry = new Registry();
  const { schema, converted } = countingSchema();
  registry.add("report", { title: "Report", inputSchema: schema, outputSchema: z.object({}) }, () =>
    text("done"),
  );
  const servers = serversOf(registry);
  const lists: unknown[] = [];
  for (let count = 0; count < 2; count++) {
    const client = await clientOf(await servers.make({ era: "legacy" }, { ...nobody, principal: "ann" }, []));
    lists.push((await client.listTools()).tools);
    await client.close();
  }
  expect(lists[0]).toEqual(lists[1]);
  expect(lists[0]).toMatchObject([
    {
      name: "report",
      title: "Report",
      inputSchema: { type: "object", properties: { month: { type: "string" } } },
    },
    { name: "task_result", inputSchema: { required: ["reference"] } },
    { name: "task_cancel" },
  ]);
  expect(converted()).toBe(1);
});

it("lists no tasks to a caller of whom nothing is known", async () => {
  const registry = new Registry();
  registry.add("report", {}, () => text("done"));
  const pollingTools = { list: "task_list" };
  const servers = serversOf(registry, makeServer, { ...plain, pollingTools });
  for (const [principal, expected] of [
    [null, false],
    ["ann", true],
  ] as const) {
    const client = await clientOf(await servers.make({ era: "legacy" }, { ...nobody, principal }, []));
    expect((await client.listTools()).tools.some(({ name }) => name === "task_list")).toBe(expected);
    await client.close();
  }
});

it("answers no call itself", async () => {
  const registry = new Registry();
  registry.add("report", {}, () => text("done"));
  const client = await clientOf(await serversOf(registry).make({ era: "legacy" }, nobody, ["tasks/get"]));
  expect(await client.callTool({ name: "report" })).toMatchObject({ isError: true });
  await client.close();
});

it("refuses a server that takes one of our names, and a factory that returns none", async () => {
  const registry = new Registry();
  registry.add("report", {}, () => text("done"));
  const withMethod = (): McpServer => {
    const mcp = makeServer();
    mcp.server.setRequestHandler("tasks/update", { params: z.unknown() }, () => ({}));
    return mcp;
  };
  const withTool = (): McpServer => {
    const mcp = makeServer();
    mcp.registerTool("task_cancel", {}, () => text("mine"));
    return mcp;
  };
  const nothing = (() => undefined) as unknown as ServerFactory;
  for (const factory of [withMethod, withTool, nothing]) {
    const made = serversOf(registry, factory).make({ era: "legacy" }, nobody, []);
    await expect(made).rejects.toMatchObject({ code: "configuration" });
  }
});

it("tells of changed tools whoever was there at the change, and not who came after it", async () => {
  const registry = new Registry();
  const clock = new FakeClock();
  const changes = new ListChanges(registry, clock, () => undefined);
  const told: string[] = [];
  changes.subscribe(() => told.push("before"));
  registry.add("late", {}, () => text("x"));
  changes.subscribe(() => told.push("after"));
  await clock.advance(1_000);
  expect(told).toEqual(["before"]);
  registry.add("later", {}, () => text("x"));
  await clock.advance(1_000);
  expect(told).toEqual(["before", "before", "after"]);
});
