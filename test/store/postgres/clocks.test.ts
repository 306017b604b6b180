import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/runtime/clock.ts";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { ServerEvents } from "../../../src/runtime/events/server-events.ts";
import type { ServerEvent } from "../../../src/runtime/events/server-event.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import type { ToolConfig, ToolHandler } from "../../../src/runtime/tool/tool.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import type { TaskSnapshot } from "../../../src/task/record.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { nobody, text } from "../../runtime/harness.ts";

const hour = 3_600_000;
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const failed = (error: { readonly code: string }): string => error.code;

type Handler = ToolHandler<Record<string, unknown>>;

/** What waits for a time, each in its own way. */
const tools: Record<string, { readonly config?: ToolConfig<undefined>; readonly handler: Handler }> = {
  sleeps: { handler: async (_, task) => text(String(await task.sleep("nap", 300))) },
  retries: {
    handler: async (_, task) => {
      let runs = 0;
      const run = (): number => {
        if (++runs === 1) throw new Error("not yet");
        return runs;
      };
      return text(String(await task.step("flaky", { retries: 1, backoff: { firstMs: 300 } }, run)));
    },
  },
  runsAgain: {
    config: { retry: { attempts: 2, backoff: { firstMs: 300 } } },
    handler: (_, task) => {
      if (task.attempt === 1) throw new Error("not yet");
      return text("done");
    },
  },
  asks: {
    handler: async (_, task) =>
      text(await task.elicit("q", question, { timeoutMs: 300 }).then(() => "answered", failed)),
  },
  expires: { config: { ttlMs: 300 }, handler: () => new Promise(() => undefined) },
};

interface Node {
  readonly runtime: Runtime;
  readonly events: ServerEvent[];
  /** How far from the time of the database each command was that this node wrote, in ms. */
  readonly errors: number[];
}

/** A node on a machine whose clock is that far off. This machine's is that of the database. */
async function startNode(fresh: FreshSchema, offMs: number, handlers = tools): Promise<Node> {
  const inner = postgresStore(fresh.url, { schema: fresh.schema });
  const [events, errors] = [[] as ServerEvent[], [] as number[]];
  const write: TaskStore["write"] = (command) => {
    errors.push(Math.abs(command.now - Date.now()));
    return inner.write(command);
  };
  const store = new Proxy(inner, {
    get: (of, name) => {
      if (name === "write") return write;
      const member: unknown = Reflect.get(of, name, of);
      return typeof member === "function" ? (member.bind(of) as unknown) : member;
    },
  });
  const registry = new Registry();
  for (const [name, { config, handler }] of Object.entries(handlers))
    registry.add(name, { onCrash: "resume", ...config }, handler);
  const clock = { ...systemClock, now: () => systemClock.now() + offMs };
  const onError = (): void => undefined;
  const runtime = createRuntime({
    store,
    registry,
    clock,
    onError,
    events: new ServerEvents({ listeners: [(event) => void events.push(event)], clock, onError }),
  });
  await runtime.start();
  onTestFinished(() => runtime.stop(0));
  return { runtime, events, errors };
}

function create({ runtime }: Node, tool: string): Promise<TaskSnapshot> {
  const origin = { capabilities: { elicitation: {} } };
  return runtime.create({ ...nobody, tool, arguments: {}, origin });
}

async function ended({ runtime }: Node, id: string): Promise<TaskSnapshot> {
  const { promise, resolve, reject } = Promise.withResolvers<TaskSnapshot>();
  const look = (): void =>
    void runtime.get(id, nobody).then((found) => found.task.finishedAt !== null && resolve(found), reject);
  const unwatch = runtime.watch([id], look);
  look();
  try {
    return await promise;
  } finally {
    unwatch();
  }
}

test.each([hour, -hour])(
  "a node whose clock is %d ms off keeps to the time of the database",
  async (offMs) => {
    const fresh = await FreshSchema.inSharedDatabase();
    onTestFinished(() => fresh.drop());
    const node = await startNode(fresh, offMs);
    const ids = await Promise.all(Object.keys(tools).map(async (tool) => (await create(node, tool)).task.id));
    for (const id of ids) {
      const { task } = await ended(node, id);
      expect((task.finishedAt ?? 0) - task.createdAt).toBeGreaterThanOrEqual(150);
    }
    expect(Math.max(...node.errors)).toBeLessThan(5_000);
    const off = node.events.filter(({ type }) => type === "clock.off");
    expect(off.map((event) => Math.round(("offsetMs" in event ? event.offsetMs : 0) / hour))).toEqual([
      -offMs / hour,
    ]);
  },
);

test.each([hour, -hour])(
  "what a node leaves whose clock is %d ms off comes due for others in time, and what they have does for it",
  async (offMs) => {
    const fresh = await FreshSchema.inSharedDatabase();
    onTestFinished(() => fresh.drop());
    const hangs = { config: { ttlMs: hour / 2 }, handler: () => new Promise<never>(() => undefined) };
    const naps = { handler: (async (_, task) => text(String(await task.sleep("nap", 900)))) as Handler };
    const right = await startNode(fresh, 0, { hangs });
    const held = await create(right, "hangs");
    const wrong = await startNode(fresh, offMs, { naps });
    const left = await create(wrong, "naps");
    await wrong.runtime.stop();
    const next = await startNode(fresh, 0, { naps });
    const { task } = await ended(next, left.task.id);
    expect(task).toMatchObject({ state: "settled", outcomeKind: "result" });
    expect((task.finishedAt ?? 0) - task.createdAt).toBeGreaterThanOrEqual(900);
    const sweeps = await startNode(fresh, offMs, { naps });
    expect((await sweeps.runtime.get(held.task.id, nobody)).task.finishedAt).toBeNull();
    await ended(sweeps, (await create(sweeps, "naps")).task.id);
    expect((await sweeps.runtime.get(held.task.id, nobody)).task.finishedAt).toBeNull();
  },
);
