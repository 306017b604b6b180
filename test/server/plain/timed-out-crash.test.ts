import type { ToolHandler } from "holdfast";
import { expect, it } from "vitest";
import type { TaskStore } from "../../../src/store/store.ts";
import { CrashableStore } from "../../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../../src/testing/clocks.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { clockedServer, type ClockedServer } from "./clocked-server.ts";

const minute = 60_000;
const ten = 10 * minute;
const job = { name: "job", arguments: {} };

interface Crashed {
  readonly clock: FakeClock;
  /** Starts the next process, and a session with it. */
  readonly restart: () => Promise<InMemorySession>;
}

/** A server that crashes after the client of its call ran out of time, when `begun` resolved. */
async function crashed(handler: ToolHandler<object>, begun: Promise<void>): Promise<Crashed> {
  const start = (store: TaskStore, clock = new FakeClock()): Promise<ClockedServer> =>
    clockedServer((tools) => tools.tool("job", {}, handler), { store, clock, plain: "wait" });
  const crashable = new CrashableStore();
  const { server, clock } = await start(crashable.store);
  const session = await InMemorySession.open(server);
  const requestId = session.begin("tools/call", job);
  await begun;
  session.notify("notifications/cancelled", { requestId, reason: "Request timed out" });
  await rest();
  crashable.crash();
  return {
    clock,
    restart: async () => InMemorySession.open((await start(crashable.successor().store, clock)).server),
  };
}

it.each([
  [ten - 1, text("steps 1")],
  [ten, text("steps 2")],
])("has the same grace after a crash of the server: %i ms later", async (ms, expected) => {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let steps = 0;
  const { clock, restart } = await crashed(async (_args, task) => {
    await task.step("one", () => ++steps);
    begun.resolve();
    await gate.promise;
    return text(`steps ${steps}`);
  }, begun.promise);
  await clock.advance(ms);
  const session = await restart();
  gate.resolve();
  expect(await session.request("tools/call", job)).toEqual(expected);
});

it("lets a task that runs again in the grace sleep for longer than that", async () => {
  const begun = Promise.withResolvers<void>();
  const { clock, restart } = await crashed(async (_args, task) => {
    await task.step("one", () => begun.resolve());
    if (task.attempt === 1) await new Promise(() => undefined);
    await task.sleep("long", 2 * ten);
    return text("awake");
  }, begun.promise);
  const session = await restart();
  await clock.advance(minute);
  const call = session.begin("tools/call", job);
  await clock.advance(2 * ten);
  expect(await session.result(call)).toEqual(text("awake"));
});
