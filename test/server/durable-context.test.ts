import { join } from "node:path";
import { acceptedContent, inputRequired, type McpServer } from "@modelcontextprotocol/server";
import type { DurableContext, TasksOptions, TaskSettings } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it } from "vitest";
import * as z from "zod";
import { making, serveDurable, temporaryFolder, type Durable } from "./durable-server.ts";
import { text } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";

const authInfo = { token: "t0ken", clientId: "desk", scopes: [], extra: { sub: "ann" } };
const authenticate: Authenticate = async () => ({ principal: "ann", authInfo });
const form = (message: string) => ({
  message,
  requestedSchema: { type: "object", properties: { name: { type: "string" } } } as const,
});

/** What a handler finds of its request: a text for each part, or why it is not there. */
function found(ctx: DurableContext): Record<string, unknown> {
  const parts: Record<string, () => unknown> = {
    id: () => ctx.mcpReq.id,
    desk: () => ctx.http?.req?.headers.get("x-desk"),
    token: () => ctx.http?.authInfo?.token,
    session: () => typeof ctx.sessionId,
    progressToken: () => ctx.mcpReq._meta?.progressToken,
    trace: () => ctx.mcpReq._meta?.["traceparent"],
    traceState: () => ctx.mcpReq._meta?.["tracestate"],
    other: () => ctx.mcpReq._meta?.["example.com/x"],
    envelope: () => Object.keys({ ...ctx.mcpReq.envelope }).length,
    state: () => ctx.mcpReq.requestState(),
  };
  return Object.fromEntries(
    Object.entries(parts).map(([name, read]) => {
      try {
        return [name, read() ?? null];
      } catch (error) {
        return [name, String(error)];
      }
    }),
  );
}

/** A durable tool `work`, in one file of a store in as many processes as it is served. */
async function restartable(
  task: TaskSettings,
  handler: (ctx: DurableContext) => ReturnType<Parameters<McpServer["registerTool"]>[2]>,
): Promise<() => Promise<Durable>> {
  const store = join(await temporaryFolder(), "tasks.db");
  const factory = making((server) => void server.registerTool("work", { task }, async (ctx) => handler(ctx)));
  const options = (): Partial<TasksOptions> => ({ store: sqliteStore(store) });
  return () => serveDurable(factory, options(), { authenticate });
}

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const meta = { progressToken: "p1", traceparent: trace, "example.com/x": 1 };

it("tells of the request where it came, and says what is gone after a restart", async () => {
  const seen: Record<string, unknown>[] = [];
  const serve = await restartable({}, async (ctx) => {
    seen.push(found(ctx));
    await ctx.task.elicit("name", form("Name?"));
    return text("done");
  });
  const first = await serve();
  const taskId = await first.peer.start("work", {}, { headers: { "x-desk": "7" }, meta, id: "call-1" });
  await first.peer.until(taskId, "input_required");
  await first.close();
  const second = await serve();
  const inputResponses = { name: { action: "accept", content: { name: "Ann" } } };
  await second.peer.result("tasks/update", { taskId, inputResponses });
  expect(await second.peer.ended(taskId)).toMatchObject({ result: text("done") });
  const kept = {
    id: "call-1",
    progressToken: "p1",
    trace,
    session: "undefined",
    state: null,
    traceState: null,
  };
  const gone = (what: string): unknown => expect.stringContaining(`ctx.${what} is not available`);
  expect(seen).toEqual([
    { ...kept, desk: "7", token: "t0ken", other: 1, envelope: 2 },
    {
      ...kept,
      desk: gone("http.req"),
      token: gone("http.authInfo"),
      other: gone("mcpReq._meta.example.com/x"),
      envelope: gone("mcpReq.envelope"),
    },
  ]);
  expect(second.errors).toEqual([]);
});

it("gives the session of an earlier revision, and says after a restart that it is gone", async () => {
  const seen: Record<string, unknown>[] = [];
  const serve = await restartable({}, async (ctx) => {
    await ctx.task.step("begun", () => true); // from here on a stop lets it run again
    seen.push(found(ctx));
    await ctx.task.waitForEvent("go", "go");
    return text("done");
  });
  const first = await serve();
  const session = await SessionClient.open(first.url, { headers: { "x-desk": "8" } });
  const { result } = await session.request("tools/call", { name: "work", arguments: {}, task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  await expect.poll(() => seen.length).toBe(1);
  await first.close();
  const second = await serve();
  await second.server.tasks.sendEvent(taskId, "go");
  await expect.poll(() => seen.length).toBe(2);
  expect(seen).toMatchObject([
    { session: "string", desk: "8", token: "t0ken", envelope: 0, progressToken: null },
    { session: expect.stringContaining("A task outlives its session") as unknown, progressToken: null },
  ]);
});

it("keeps questions under the same keys, and asks none of them again after a restart", async () => {
  const attempts: number[] = [];
  const serve = await restartable({ onCrash: "resume" }, async (ctx) => {
    attempts.push(ctx.task.attempt);
    const [name, town] = await Promise.all([
      ctx.mcpReq.elicitInput(form("Name?")),
      ctx.mcpReq.send({ method: "elicitation/create", params: form("Town?") }),
    ]);
    const third = await ctx.mcpReq.elicitInput(form("Again?"));
    return text([name, town, third].map(({ content }) => String(content?.["name"])).join(" "));
  });
  const first = await serve();
  const taskId = await first.peer.start("work");
  const open = async ({ peer }: Durable): Promise<string[]> =>
    Object.keys((await peer.get(taskId))["inputRequests"] ?? {});
  await expect.poll(() => open(first)).toEqual(["ctx.elicitInput 1", "ctx.elicitInput 2"]);
  const answer = (name: string): object => ({ action: "accept", content: { name } });
  const inputResponses = { "ctx.elicitInput 1": answer("Ann"), "ctx.elicitInput 2": answer("Ulm") };
  await first.peer.result("tasks/update", { taskId, inputResponses });
  const third = async (server: Durable): Promise<void> => {
    await expect.poll(() => open(server)).toEqual(["ctx.elicitInput 3"]);
  };
  await third(first);
  await first.close();
  const second = await serve();
  await third(second);
  await second.peer.result("tasks/update", {
    taskId,
    inputResponses: { "ctx.elicitInput 3": answer("yes") },
  });
  expect(await second.peer.ended(taskId)).toMatchObject({ result: text("Ann Ulm yes") });
  expect(attempts).toEqual([1, 2]);
});

it("waits for code that fits where a handler that runs again asks another question", async () => {
  const serve = await restartable({ onCrash: "resume" }, async (ctx) => {
    await ctx.mcpReq.elicitInput(form(`Attempt ${ctx.task.attempt}?`));
    return text("done");
  });
  const first = await serve();
  const taskId = await first.peer.start("work");
  await first.peer.until(taskId, "input_required");
  await first.close();
  const { peer } = await serve();
  await peer.result("tasks/update", {
    taskId,
    inputResponses: { "ctx.elicitInput 1": { action: "accept" } },
  });
  await peer.until(taskId, "working");
  await expect
    .poll(async () => (await peer.get(taskId))["statusMessage"])
    .toContain("The server was changed and cannot continue this task at the moment.");
});

it("runs no handler again that only asks its client, and used nothing of the task", async () => {
  let runs = 0;
  const serve = await restartable({}, async (ctx) => {
    runs++;
    await ctx.mcpReq.elicitInput(form("Name?"));
    return text("done");
  });
  const first = await serve();
  const taskId = await first.peer.start("work");
  await first.peer.until(taskId, "input_required");
  await first.close();
  const { peer } = await serve();
  const { status, statusMessage } = await peer.ended(taskId);
  expect([status, statusMessage]).toEqual([
    "failed",
    expect.stringContaining("not marked as safe to run again"),
  ]);
  expect(runs).toBe(1);
});

it("asks as the task what a handler returns with inputRequired, round by round", async () => {
  const content = z.object({ name: z.string() });
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("greet", { task: "optional" }, (ctx) => {
        const given = acceptedContent(ctx.mcpReq.inputResponses, "name", content);
        if (given !== undefined && given.name !== "") return text(`hello ${given.name}`);
        return inputRequired({ inputRequests: { name: inputRequired.elicit(form("Name?")) } });
      });
    }),
  );
  const taskId = await peer.start("greet");
  for (const [round, name] of [
    [1, ""],
    [2, "Ann"],
  ] as const) {
    const key = `ctx.inputRequired ${round} name`;
    const keys = async (): Promise<unknown> => Object.keys((await peer.get(taskId))["inputRequests"] ?? {});
    await expect.poll(keys).toEqual([key]);
    const inputResponses = { [key]: { action: "accept", content: { name } } };
    await peer.result("tasks/update", { taskId, inputResponses });
  }
  expect(await peer.ended(taskId)).toMatchObject({ result: text("hello Ann") });
});

it("writes to the log of the task", async () => {
  const store = memoryStore();
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("work", { task: "optional" }, async (ctx) => {
        await ctx.mcpReq.log("info", "begun");
        const params = { level: "warning", logger: "render", data: { page: 3 } };
        await ctx.mcpReq.notify({ method: "notifications/message", params });
        return text("done");
      });
    }),
    { store },
  );
  const taskId = await peer.start("work");
  await peer.ended(taskId);
  const all = JSON.stringify(await store.logs?.read(taskId, "log", 0, 10));
  for (const said of ["begun", "render: ", "page"]) expect(all).toContain(said);
});

it("says that the server around a handler has no client", async () => {
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("work", { task: "optional" }, async () => {
        const { content } = await server.server.elicitInput(form("Name?"));
        return text(JSON.stringify(content));
      });
    }),
  );
  const { result } = await peer.ended(await peer.start("work"));
  expect(JSON.stringify(result)).toContain(
    "is not connected to a client. To ask the client or report progress, use ctx",
  );
});

it("keeps no more of _meta than its limit, and says so", async () => {
  const seen: Record<string, unknown>[] = [];
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("work", { task: "optional" }, (ctx) => {
        seen.push(found(ctx));
        return text("done");
      });
    }),
  );
  await peer.ended(await peer.start("work", {}, { meta: { ...meta, large: "x".repeat(20_000) } }));
  const cut = expect.stringContaining("too large") as unknown;
  expect(seen).toMatchObject([{ progressToken: "p1", trace, traceState: null, other: cut, envelope: cut }]);
});

it("reports progress, and says what a task cannot do", async () => {
  const said: string[] = [];
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("work", { task: "optional" }, async (ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken ?? "none";
        const params = { progressToken, progress: 1, total: 2, message: "half" };
        await ctx.mcpReq.notify({ method: "notifications/progress", params });
        const tries = [
          ctx.mcpReq.notify({ method: "notifications/resources/list_changed" }),
          ctx.mcpReq.send({ method: "ping" }),
          ctx.mcpReq.elicitInput(form("?"), { signal: ctx.mcpReq.signal }),
          Promise.resolve(inputRequired({ requestState: "mine" })),
        ];
        for (const one of tries.slice(0, 3)) {
          said.push(await one.then(String, (error: unknown) => (error as Error).message));
        }
        return tries[3] as Promise<ReturnType<typeof inputRequired>>;
      });
    }),
  );
  const taskId = await peer.start("work", {}, { meta: { progressToken: 3 } });
  expect(await peer.ended(taskId)).toMatchObject({
    status: "failed",
    error: {
      message: expect.stringContaining('Tool "work" returned inputRequired with requestState') as unknown,
    },
  });
  expect(said).toEqual([
    expect.stringContaining("cannot send notifications/resources/list_changed"),
    expect.stringContaining("cannot send ping requests"),
    expect.stringContaining("ctx.mcpReq.elicitInput does not take signal in a task"),
  ]);
});

it("ends a task whose handler asks what no client answers", async () => {
  let runs = 0;
  const { peer } = await serveDurable(
    making((server) => {
      server.registerTool("work", { task: "optional" }, () => {
        if (++runs > 100) throw new Error("it runs for ever");
        // As JavaScript may write it.
        return inputRequired({ inputRequests: { sure: { method: "elicit" } as never } });
      });
    }),
  );
  const message = expect.stringMatching(
    /"work" returned inputRequired with a request "elicit", which no client answers\..*elicitation\/create/,
  ) as unknown;
  expect(await peer.ended(await peer.start("work"))).toMatchObject({ status: "failed", error: { message } });
});

it("takes whatever a handler reports through the SDK's context, and no Error for a result", async () => {
  const cycle: Record<string, unknown> = { n: 1n };
  cycle["self"] = cycle;
  const { peer, errors } = await serveDurable(
    making((server) => {
      server.registerTool("report", { task: "optional" }, async (ctx) => {
        await ctx.mcpReq.log("error", cycle);
        await ctx.mcpReq.log("error", new Error("refused"), "net");
        const params = { progressToken: "p", progress: Number.NaN };
        await ctx.mcpReq.notify({ method: "notifications/progress", params });
        return text("done");
      });
      server.registerTool("fails", { task: "optional" }, (() => new Error("failed")) as never);
    }),
  );
  const id = await peer.start("report");
  expect(await peer.ended(id)).toMatchObject({ status: "completed", result: text("done") });
  const uri = `task://${id}/log`;
  const read = await peer.result("resources/read", { uri }, { headers: { "Mcp-Name": uri } });
  const { contents } = read as { contents: [{ text: string }] };
  const lines = contents[0].text.split("\n").filter((line) => line !== "");
  expect(lines.map((line) => (JSON.parse(line) as { text: unknown }).text)).toEqual([
    '{"n":"1n","self":"[circular]"}',
    "net: Error: refused",
    "Some of what this task reported was not kept: 1 progress report without a finite number.",
  ]);
  expect(await peer.ended(await peer.start("fails"))).toMatchObject({ status: "failed" });
  expect(errors).toEqual([]);
});
