import type { Tasks, ToolConfig } from "holdfast";
import { memoryDatabase, memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import type { PlainOptions } from "../../../src/server/plain/plain-policies.ts";
import type { TaskRecord } from "../../../src/task/record.ts";
import { FakeClock, rest } from "../../../src/testing/clocks.ts";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { type Message, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { clockedServer, type ClockedServer } from "./clocked-server.ts";
import { fourTools, ticketOf } from "./job.ts";

const minute = 60_000;
const joining = { joinCalls: true } as const;
const timedOut = "Request timed out";

interface Processes {
  readonly clock: FakeClock;
  readonly here: ClockedServer;
  readonly there: ClockedServer;
  /** The ids of the tasks, in the order in which they began. */
  readonly ids: string[];
  /** What stores were told to write, in either process. */
  readonly commands: string[];
  readonly end: () => void;
  readonly begun: (count: number) => Promise<void>;
  readonly task: (id: string | undefined) => Promise<TaskRecord | undefined>;
  /** Takes the process for dead that runs the task. */
  readonly killOwnerOf: (id: string | undefined) => Promise<void>;
}

/** Two processes on one store, with the tool `job`: each run waits for `end` and returns the id of its task. */
async function processes(
  config: Pick<ToolConfig, "joinCalls"> = {},
  options: Partial<PlainOptions> = { plain: "wait" },
): Promise<Processes> {
  const ids: string[] = [];
  const commands: string[] = [];
  const gate = Promise.withResolvers<void>();
  const clock = new FakeClock();
  const database = memoryDatabase();
  const start = (): Promise<ClockedServer> => {
    const store = memoryStore(database);
    const write = store.write.bind(store);
    store.write = (command) => {
      commands.push(command.type);
      return write(command);
    };
    const tools = (tasks: Pick<Tasks, "tool">): void => {
      tasks.tool("job", { onCrash: "resume", ...config }, async (_args, task) => {
        ids.push(task.id);
        await gate.promise;
        return text(task.id);
      });
    };
    return clockedServer(tools, { store, clock, ...options });
  };
  const [here, there] = [await start(), await start()];
  const reader = memoryStore(database);
  await reader.open({ id: "reader", handlers: [] });
  return {
    clock,
    here,
    there,
    ids,
    commands,
    end: gate.resolve,
    begun: async (count) => {
      while (ids.length < count) await new Promise(setImmediate);
    },
    task: async (id = "") => reader.get(id),
    killOwnerOf: async (id = "") => database.kill((await reader.get(id))?.owner ?? ""),
  };
}

const idIn = (result: Message): string => (result as { content: [{ text: string }] }).content[0].text;

function cancel(session: InMemorySession, requestId: unknown, reason?: string): void {
  session.notify("notifications/cancelled", { requestId, ...(reason !== undefined && { reason }) });
}

it("runs the same call in each process where somebody waits for it", async () => {
  const run = await processes();
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const calls = [here.call("job"), there.call("job")]; // at once
  await run.begun(2);
  const third = there.call("job");
  await run.begun(3);
  run.end();
  const ended = [
    await here.result(calls[0] ?? 0),
    await there.result(calls[1] ?? 0),
    await there.result(third),
  ];
  expect(new Set(ended.map(idIn))).toEqual(new Set(run.ids));
  expect(new Set(run.ids).size).toBe(3);
});

it("runs it once for calls that may join, and delivers to both", async () => {
  const run = await processes(joining);
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const first = here.call("job");
  await run.begun(1);
  const second = there.call("job");
  await rest();
  run.end();
  const ended = [await here.result(first), await there.result(second)];
  expect([ended.map(idIn), run.ids.length]).toEqual([[run.ids[0], run.ids[0]], 1]);
  await rest();
  expect(await run.task(run.ids[0])).toMatchObject({ idempotencyKey: null, awaitedBy: [] });
});

it("goes on while somebody waits in another process, and is cancelled when the last caller calls off", async () => {
  const run = await processes(joining);
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const first = here.call("job");
  await run.begun(1);
  const second = there.call("job");
  await rest();
  cancel(here, first);
  await rest();
  expect(await run.task(run.ids[0])).toMatchObject({ state: "running", cancelBy: null });
  cancel(there, second);
  await rest();
  expect(await run.task(run.ids[0])).toMatchObject({ state: "cancelled" });
  run.end();
});

it("joins a call whose connection broke in another process", async () => {
  const run = await processes();
  const streams = new FakeStreams();
  const here = await InMemorySession.open(run.here.server, { streams });
  const lost = here.call("job");
  await run.begun(1);
  streams.break(lost);
  const there = await InMemorySession.open(run.there.server);
  const retry = there.call("job");
  await rest();
  run.end();
  expect([idIn(await there.result(retry)), run.ids.length]).toEqual([run.ids[0], 1]);
});

it("lets one call join a task that nobody waits for, when several come at once", async () => {
  const run = await processes();
  const streams = new FakeStreams();
  const here = await InMemorySession.open(run.here.server, { streams });
  streams.break(here.call("job"));
  await run.begun(1);
  const sessions = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const calls = sessions.map((session) => session.call("job"));
  await run.begun(2);
  run.end();
  const ended = await Promise.all(sessions.map((session, n) => session.result(calls[n] ?? 0)));
  expect(new Set(ended.map(idIn))).toEqual(new Set(run.ids));
});

it("joins the task of a process that died", async () => {
  const run = await processes();
  const here = await InMemorySession.open(run.here.server);
  here.call("job");
  await run.begun(1);
  await run.killOwnerOf(run.ids[0]);
  const there = await InMemorySession.open(run.there.server);
  const retry = there.call("job");
  await run.clock.advance(minute);
  run.end();
  expect(idIn(await there.result(retry))).toBe(run.ids[0]);
  expect(new Set(run.ids).size).toBe(1);
});

it("gives a result to the same call in another process when its caller ran out of time", async () => {
  const run = await processes();
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const first = here.call("job");
  await run.begun(1);
  cancel(here, first, timedOut);
  await rest();
  expect(await run.task(run.ids[0])).toMatchObject({ cancelBy: run.clock.now() + 10 * minute });
  await run.clock.advance(9 * minute);
  const again = there.call("job");
  await rest();
  expect(await run.task(run.ids[0])).toMatchObject({ cancelBy: null });
  await run.clock.advance(20 * minute);
  run.end();
  expect(idIn(await there.result(again))).toBe(run.ids[0]);
});

it.each([
  ["comes within a second", 999, 1],
  ["comes later", 1_000, 2],
])("waits for the news that a call in another process was given up, which %s", async (_, ms, runs) => {
  const run = await processes();
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const first = here.call("job");
  await run.begun(1);
  await run.clock.advance(minute);
  const again = there.call("job");
  await run.clock.advance(ms);
  cancel(here, first, timedOut);
  await rest();
  await run.begun(runs);
  run.end();
  expect([idIn(await there.result(again)), run.ids.length]).toEqual([run.ids[runs - 1], runs]);
});

it("does not wait for it beside a call that has just begun, nor for changes of another kind", async () => {
  const run = await processes();
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  here.call("job");
  await run.begun(1);
  await run.clock.advance(999);
  there.call("job");
  await run.begun(2);
  await run.clock.advance(1_000);
  here.call("job");
  await rest();
  expect(run.ids.length).toBe(2);
  await run.clock.advance(1_000);
  await run.begun(3);
  run.end();
});

it.each(["arrives", "is lost"])(
  "waits while a result is on its way from another process, which %s",
  async (end) => {
    const run = await processes(joining);
    const streams = new FakeStreams();
    const [here, there] = [
      await InMemorySession.open(run.here.server, { streams }),
      await InMemorySession.open(run.there.server),
    ];
    const first = here.call("job");
    await run.begun(1);
    const reads = Promise.withResolvers<void>();
    here.reads = reads.promise; // its client is slow to read
    run.end();
    await rest();
    const again = there.call("job");
    await rest();
    expect(there.seen.some(({ id }) => id === again)).toBe(false);
    if (end === "is lost") streams.break(first);
    reads.resolve();
    expect(idIn(await there.result(again))).toBe(run.ids[end === "is lost" ? 0 : 1]);
  },
);

it("joins a call with a ticket from another process, unless its caller waits in task_result there", async () => {
  const run = await processes({}, { plain: "ticket", plainDeadlineMs: minute, pollingTools: fourTools });
  const [here, there] = [
    await InMemorySession.open(run.here.server),
    await InMemorySession.open(run.there.server),
  ];
  const ticket = async (session: InMemorySession, name: string, args = {}): Promise<string> => {
    const call = session.call(name, args);
    await run.clock.advance(minute + 2_000);
    return ticketOf(await session.result(call)).reference;
  };
  const reference = await ticket(here, "job");
  expect(await ticket(there, "job")).toBe(reference); // its model lost the ticket
  // Who leaves before its ticket does not end what others have a ticket for.
  cancel(there, there.call("job"));
  await rest();
  expect(await run.task(run.ids[0])).toMatchObject({ state: "running", promised: true, awaitedBy: [] });
  const waits = here.call("task_result", { reference });
  await rest();
  const other = await ticket(there, "job");
  expect([other === reference, run.ids.length]).toEqual([false, 2]);
  expect(ticketOf(await here.result(waits)).reference).toBe(reference);
  run.end();
  expect(await there.request("tools/call", { name: "task_result", arguments: { reference } })).toEqual(
    text(run.ids[0] ?? ""),
  );
});

it("writes no more for a call because there may be other processes", async () => {
  const run = await processes();
  const here = await InMemorySession.open(run.here.server);
  run.end();
  await here.result(here.call("job")); // the first one in a store also keeps a secret
  await rest();
  run.commands.length = 0;
  await here.result(here.call("job"));
  await rest();
  expect(run.commands.filter((type) => type !== "claim")).toEqual(["create", "settle", "release_key"]);
});
