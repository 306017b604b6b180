import { expect, it } from "vitest";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { openAdmin } from "../../src/admin/create-admin.ts";
import type { TaskStore } from "../../src/store/store.ts";
import type { NodeSummary } from "../../src/admin/activity.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "../runtime/harness.ts";
import { adminOf } from "./operator.ts";

const second = 1_000;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const resume = { onCrash: "resume" as const };

/** Processes on one database, and one clock. */
class Host {
  readonly clock = new FakeClock();
  readonly #database = memoryDatabase();

  async start(setup: Setup): Promise<Process> {
    const store = Object.assign(new CrashableStore(), { store: this.store() });
    const process = new Process({ ...setup, reports: true }, this.clock, store);
    await process.runtime.start();
    return process;
  }

  /** For another process. */
  store(): TaskStore {
    return memoryStore(this.#database);
  }

  /** The process that started first. */
  async node(of: Process): Promise<NodeSummary> {
    const nodes = await adminOf(of).nodes();
    const node = nodes.find(({ reportedAt }) => reportedAt !== null);
    if (node === undefined) throw new Error("There is no process.");
    return node;
  }
}

it("does not count the process of an operator, which only looks", async () => {
  const host = new Host();
  const server = await host.start({ tools: {} });
  await host.clock.advance(2 * second);
  const opened = await openAdmin(host.store());
  const { id } = await host.node(server);
  expect((await opened.admin.nodes()).map((node) => node.id)).toEqual([id]);
  await opened.close();
});

/** Does three things: a step that ends when it is told to, one that says where it runs, and a question. */
function working(name: string, begun: PromiseWithResolvers<void>, go: Promise<void>): Setup {
  const work: Handler = async (_args, task) => {
    await task.step("long", async () => {
      begun.resolve();
      await go;
    });
    const where = await task.step("where", () => name);
    return text(where);
  };
  const ask: Handler = async (_args, task) => {
    await task.elicit("go", question);
    return text(await task.step("where", () => name));
  };
  const tools = { work: { config: resume, handler: work }, ask: { config: resume, handler: ask } };
  return { tools, options: { concurrency: 1 } };
}

it("takes nothing new, lets a running step end, hands the rest over, and says when it is empty", async () => {
  const host = new Host();
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const old = await host.start(working("old", begun, go.promise));
  await host.clock.advance(2 * second);
  const fresh = await host.start(working("fresh", Promise.withResolvers<void>(), Promise.resolve()));
  const asking = await old.callId("ask");
  await old.asked(asking);
  const running = await old.callId("work");
  await begun.promise;
  const waiting = await old.callId("work"); // for the only slot of the process

  const node = await host.node(old);
  const ann = adminOf(fresh).as("ann");
  const asked = await ann.drain(node.id, { withinMs: 60 * second });
  expect(asked).toMatchObject({ id: node.id, draining: { left: null } });
  await host.clock.advance(second);
  await rest();
  expect(await old.runtime.ready(second)).toBe(false);
  expect(old.runtime.isDrained).toBe(true);
  await host.clock.advance(second);
  await rest();
  expect((await host.node(fresh)).draining).toMatchObject({ left: 1 });
  expect(bodyOf(await fresh.ended(waiting))).toEqual(text("fresh"));
  expect(bodyOf(await fresh.ended(await old.callId("work")))).toEqual(text("fresh"));
  await fresh.answer(asking, "go", { action: "accept", content: {} });
  expect(bodyOf(await fresh.ended(asking))).toEqual(text("fresh"));
  expect((await old.get(running)).task.state).toBe("running");

  go.resolve();
  expect(bodyOf(await fresh.ended(running))).toEqual(text("fresh"));
  expect((await fresh.get(running)).task.attempt).toBe(2);
  await host.clock.advance(second);
  await rest();
  expect((await host.node(fresh)).draining).toMatchObject({ left: 0 });
  const [action] = await adminOf(fresh).actions();
  expect(action).toMatchObject({
    actor: "ann",
    action: "drain",
    detail: { node: node.id, withinMs: 60_000 },
  });
});

it("hands over what still runs at the given time, and the handler learns of it", async () => {
  const host = new Host();
  const aborted = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const stuck: Handler = async (_args, task) => {
    await task.step("long", async () => {
      begun.resolve();
      await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
      aborted.resolve();
    });
    return text("old");
  };
  const old = await host.start({ tools: { work: { config: resume, handler: stuck } } });
  await host.clock.advance(2 * second);
  const fresh = await host.start(working("fresh", Promise.withResolvers<void>(), Promise.resolve()));
  const id = await old.callId("work");
  await begun.promise;
  await adminOf(fresh)
    .as("ann")
    .drain((await host.node(old)).id, { withinMs: 3 * second });
  await host.clock.advance(second);
  expect((await old.get(id)).task).toMatchObject({ state: "running", attempt: 1 });
  await host.clock.advance(3 * second);
  await aborted.promise;
  expect(bodyOf(await fresh.ended(id))).toEqual(text("fresh"));
  await host.clock.advance(second);
  await rest();
  expect((await host.node(fresh)).draining).toMatchObject({ left: 0 });
});

it("takes work again once the drain is undone", async () => {
  const host = new Host();
  const old = await host.start(working("old", Promise.withResolvers<void>(), Promise.resolve()));
  await host.clock.advance(2 * second);
  const ann = adminOf(old).as("ann");
  const { id: node } = await host.node(old);
  await ann.drain(node);
  await host.clock.advance(second);
  await rest();
  expect((await host.node(old)).draining).toMatchObject({ left: 0 });
  const id = await old.callId("work");
  await host.clock.advance(second);
  await rest();
  expect((await old.get(id)).task).toMatchObject({ state: "queued", attempt: 0 });
  expect((await ann.drain(node, { undo: true })).draining).toBeNull();
  await host.clock.advance(second);
  expect(bodyOf(await old.ended(id))).toEqual(text("old"));
  expect(await old.runtime.ready(second)).toBe(true);
  expect(bodyOf(await old.ended(await old.callId("work")))).toEqual(text("old"));
  await expect(ann.drain("nobody")).rejects.toMatchObject({ code: "invalid_params" });
});
