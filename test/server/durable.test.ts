import type { McpServer } from "@modelcontextprotocol/server";
import { createTasks, durable } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { making, serveDurable } from "./durable-server.ts";
import { text, unstamped, withoutTasks } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const month = z.object({ month: z.string() });

it("makes a tool with task durable, and leaves the others to the SDK", async () => {
  const { peer, errors } = await serveDurable(
    making((server) => {
      server.registerTool("report", { task: "optional", inputSchema: month }, async (args, ctx) => {
        const rows = await ctx.task.step("rows", () => [args.month, "42"]);
        return text(rows.join(" "));
      });
      server.registerTool("now", { inputSchema: month }, async (args) => text(`now ${args.month}`));
    }),
  );
  const task = await peer.ended(await peer.start("report", { month: "2026-10" }));
  expect(task).toMatchObject({ status: "completed", result: text("2026-10 42") });
  const direct = await peer.call("report", { month: "2026-11" }, { capabilities: withoutTasks });
  expect(direct.result).toMatchObject(text("2026-11 42"));
  expect((await peer.call("now", { month: "2026-12" })).result).toMatchObject(text("now 2026-12"));
  expect(errors).toEqual([]);
});

it("lists a tool as the SDK does", async () => {
  const shape = { month: z.string().describe("As 2026-10"), pages: z.number().optional() };
  const register = (server: McpServer, task: { task: "optional" } | object): void => {
    const config = {
      title: "Report",
      description: "Makes one",
      annotations: { openWorldHint: true },
      ...task,
    };
    const rest = { _meta: { "example.com/x": 1 }, outputSchema: z.object({ url: z.string() }) };
    server.registerTool("report", { ...config, ...rest, inputSchema: z.object(shape) }, () => text("x"));
    server.registerTool("bare", { ...config }, () => text("x"));
  };
  const plain = createTasks({ store: memoryStore(), pollingTools: {} });
  const before = await serveHttp(plain.server(making((server) => register(server, {}))), { port: 0 });
  onTestFinished(() => before.close());
  const after = await serveDurable(making((server) => register(server, { task: "optional" })));
  const lists = await Promise.all(
    [new StatelessClient(before.url), after.peer].map((peer) => peer.result("tools/list")),
  );
  const [listed, listedAfter] = lists.map((list) => unstamped(list)["tools"]);
  expect(listedAfter).toEqual(listed);
});

it("takes handlers without arguments, and schemas by their fields", async () => {
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("bare", { task: "required" }, async (ctx) => text(ctx.mcpReq.method));
      const inputSchema = { month: z.string(), pages: z.number().optional() };
      server.registerTool("shaped", { task: "required", inputSchema }, async (args) => {
        const pages: number | undefined = args.pages;
        return text(`${args.month.length} ${String(pages)}`);
      });
    }),
  );
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("tools/call") });
  const shaped = await peer.start("shaped", { month: "2026-10" });
  expect(await peer.ended(shaped)).toMatchObject({ result: text("7 undefined") });
  expect((await peer.call("shaped", { month: 1 })).result).toMatchObject({ isError: true });
});

it("makes a result of what a handler throws, as the SDK does", async () => {
  const { ProtocolError } = await import("@modelcontextprotocol/server");
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("throws", { task: "optional" }, () => {
        throw new ProtocolError(-32602, "no such month");
      });
      server.registerTool("plain", {}, () => {
        throw new ProtocolError(-32602, "no such month");
      });
    }),
  );
  const expected = { ...text("no such month"), isError: true };
  expect((await peer.call("plain")).result).toMatchObject(expected);
  expect(await peer.ended(await peer.start("throws"))).toMatchObject({ result: expected });
});

it("runs a factory that is asynchronous, and its handlers once for all clients", async () => {
  let runs = 0;
  const { peer } = await serveDurable(async () => {
    const run = ++runs;
    await Promise.resolve();
    return making((server) => {
      server.registerTool("which", { task: "optional" }, () => text(`of run ${run}`));
    })();
  });
  for (const _ of [1, 2]) {
    expect((await peer.call("which", {}, { capabilities: withoutTasks })).result).toMatchObject(
      text("of run 1"),
    );
  }
  await peer.result("tools/list");
  expect(runs).toBeGreaterThan(1);
});

it("takes the options of a tool, and gives the tasks for what is beside it", async () => {
  const { peer, server } = await serveDurable(
    making((sdk) => {
      const task = { mode: "required", ttlMs: 60_000, concurrency: 1 } as const;
      sdk.registerTool("waits", { task }, async (ctx) =>
        text(await ctx.task.waitForEvent<string>("paid", "paid")),
      );
    }),
  );
  const refused = await peer.call("waits", {}, { capabilities: withoutTasks });
  expect(refused.error?.code).toBe(-32021);
  const taskId = await peer.start("waits");
  expect(await peer.get(taskId)).toMatchObject({ ttlMs: 60_000 });
  await server.tasks.sendEvent(taskId, "paid", "42");
  expect(await peer.ended(taskId)).toMatchObject({ result: text("42") });
});

it("types the context by a task that is a constant too, and refuses options that there are not", async () => {
  const settings = { ttlMs: 60_000, requires: ["elicitation" as const] };
  const frozen = { mode: "required" } as const;
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("bare", { task: settings }, (ctx) => text(String(ctx.task.attempt)));
      server.registerTool("shaped", { task: frozen, inputSchema: month }, (args, ctx) =>
        text(`${args.month} ${ctx.task.attempt}`),
      );
    }),
  );
  expect(await peer.ended(await peer.start("bare"))).toMatchObject({ result: text("1") });
  const wrong = making((server) => {
    // @ts-expect-error: no such option
    server.registerTool("a", { task: { ttlMs: 5, ttl: 5 } }, () => text("a"));
    // @ts-expect-error: no such mode
    server.registerTool("b", { task: "never", inputSchema: month }, () => text("b"));
  });
  expect(() => durable(wrong, { store: memoryStore() })).toThrow('has no option "ttl"');
});

it("calls a durable tool from another tool", async () => {
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("scan", { task: "optional", inputSchema: month }, async (args, ctx) =>
        text(`${args.month} ${String(ctx.http?.req?.headers.get("x-desk"))}`),
      );
      server.registerTool("all", { task: "optional" }, async (ctx) =>
        ctx.task.call("one", "scan", { month: "2026-10" }),
      );
    }),
  );
  const headers = { "x-desk": "7" };
  const taskId = await peer.start("all", {}, { headers });
  expect(await peer.ended(taskId)).toMatchObject({ result: text("2026-10 7") });
});

it("starts and stops without a transport", async () => {
  const server = durable(
    async () => making((sdk) => void sdk.registerTool("a", { task: "optional" }, () => text("a")))(),
    { store: memoryStore() },
  );
  await server.tasks.start();
  await server.tasks.stop();
});
