import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
  type QueuedMessage,
  type TaskMessageQueue,
  type TaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks";
import type { Task } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDurable, storeNames } from "./stores.ts";

// The SDK's own store as the judge: the same calls get the same answers. Where we differ on purpose, see
// differences.test.ts.

interface Peer {
  readonly store: TaskStore;
  readonly queue: TaskMessageQueue;
}

const call = { method: "tools/call", params: { name: "x", arguments: { a: 1 } } };
const done = { content: [{ type: "text", text: "done" }] };
const statuses: readonly Task["status"][] = ["working", "input_required", "completed", "failed", "cancelled"];

/** Calls one peer and notes what it answers; ids become the order of creation, so that two peers can be compared. */
class Scribe {
  readonly #peer: Peer;
  readonly #ids: string[] = [];
  readonly notes: unknown[] = [];

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  async create(params: Parameters<TaskStore["createTask"]>[0] = {}, session?: string): Promise<string> {
    const task = await this.#peer.store.createTask(params, 1, call, session);
    expect(task.taskId).toMatch(/^[\w-]{22,}$/);
    this.#ids.push(task.taskId);
    // The SDK's store hands out the very object that it changes later.
    this.notes.push(structuredClone(task));
    return task.taskId;
  }

  async store<N extends keyof TaskStore>(name: N, ...args: Parameters<TaskStore[N]>): Promise<void> {
    const method = this.#peer.store[name] as (...all: Parameters<TaskStore[N]>) => Promise<unknown>;
    await this.#note(() => method.apply(this.#peer.store, args));
  }

  async queue<N extends keyof TaskMessageQueue>(
    name: N,
    ...args: Parameters<TaskMessageQueue[N]>
  ): Promise<void> {
    const method = this.#peer.queue[name] as (...all: Parameters<TaskMessageQueue[N]>) => Promise<unknown>;
    await this.#note(() => method.apply(this.#peer.queue, args));
  }

  /** All pages of a list: how many each has, and whose tasks they are, whatever their order. */
  async list(session?: string): Promise<void> {
    const pages: number[] = [];
    const tasks: Task[] = [];
    for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined;) {
      const page = await this.#peer.store.listTasks(cursor, session);
      pages.push(page.tasks.length);
      tasks.push(...page.tasks);
      cursor = page.nextCursor;
    }
    tasks.sort((a, b) => this.#ids.indexOf(a.taskId) - this.#ids.indexOf(b.taskId));
    this.notes.push({ pages, tasks });
  }

  /** Lets time pass, in which no timer of the tests themselves runs. */
  async wait(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  get log(): unknown {
    let text = JSON.stringify(this.notes);
    for (const [index, id] of this.#ids.entries()) text = text.replaceAll(id, `task ${index}`);
    return JSON.parse(text, (_, value: unknown) => withoutTextOfItsEnd(value)) as unknown;
  }

  async #note(answer: () => Promise<unknown>): Promise<void> {
    try {
      this.notes.push((await answer()) ?? "nothing");
    } catch (error) {
      this.notes.push({ threw: (error as Error).message });
    }
  }
}

/** The SDK's store keeps the last text of an ended task. */
function withoutTextOfItsEnd(value: unknown): unknown {
  const { status, statusMessage: _, ...rest } = { ...(value as Partial<Task> | null) };
  const hasEnded = status === "completed" || status === "failed" || status === "cancelled";
  return hasEnded ? { ...rest, status } : value;
}

function message(type: QueuedMessage["type"], id: number): QueuedMessage {
  const told = {
    jsonrpc: "2.0",
    id,
    method: "elicitation/create",
    result: {},
    error: { code: 1, message: "m" },
  };
  return { type, timestamp: id, message: told } as unknown as QueuedMessage;
}

const cases: Readonly<Record<string, (scribe: Scribe) => Promise<void>>> = {
  "a new task": async (scribe) => {
    for (const params of [{}, { ttl: 5000 }, { ttl: null }, { pollInterval: 7 }, { context: { job: 1 } }]) {
      const id = await scribe.create(params);
      await scribe.store("getTask", id);
    }
    await scribe.store("getTask", "unknown");
  },

  "a task of every status, moved to every other": async (scribe) => {
    for (const from of statuses) {
      for (const to of statuses) {
        const id = await scribe.create({ ttl: 60_000 });
        await scribe.store("updateTaskStatus", id, from, `now ${from}`);
        await scribe.wait(3);
        await scribe.store("updateTaskStatus", id, to, to === "failed" ? undefined : `now ${to}`);
        await scribe.store("getTask", id);
      }
    }
  },

  "a text that is empty keeps the last one": async (scribe) => {
    const id = await scribe.create();
    for (const text of ["one", "", undefined, "two"]) {
      await scribe.store("updateTaskStatus", id, "working", text);
      await scribe.store("getTask", id);
    }
    await scribe.store("storeTaskResult", id, "completed", done);
    await scribe.store("getTask", id);
  },

  "a result under either status, whatever it says of itself": async (scribe) => {
    for (const status of ["completed", "failed"] as const) {
      for (const result of [done, { ...done, isError: true }, { structuredContent: { isError: true } }, {}]) {
        const id = await scribe.create();
        await scribe.wait(2);
        await scribe.store("getTaskResult", id);
        await scribe.store("storeTaskResult", id, status, result);
        for (const twice of [1, 2]) await scribe.store("getTaskResult", id, `s${twice}`);
        await scribe.store("getTask", id);
      }
    }
  },

  "a result is stored once, and not after another end": async (scribe) => {
    for (const end of ["completed", "cancelled"] as const) {
      const id = await scribe.create();
      await scribe.store("updateTaskStatus", id, end);
      await scribe.store("storeTaskResult", id, "completed", done);
      await scribe.store("getTaskResult", id);
    }
    const id = await scribe.create();
    await scribe.store("storeTaskResult", id, "completed", done);
    await scribe.store("storeTaskResult", id, "failed", { other: true });
    await scribe.store("updateTaskStatus", id, "cancelled");
    await scribe.store("getTaskResult", id);
    await scribe.store("getTask", id);
  },

  "a result comes back as it was": async (scribe) => {
    const odd = {
      __proto__x: 1,
      text: "\u0000 \u{1f600} \ud800",
      numbers: [1e21, -0.5, 0],
      _meta: { b: 1, a: 2 },
    };
    const id = await scribe.create();
    await scribe.store("storeTaskResult", id, "completed", odd);
    await scribe.store("getTaskResult", id);
  },

  "unknown tasks": async (scribe) => {
    await scribe.store("storeTaskResult", "unknown", "completed", done);
    await scribe.store("updateTaskStatus", "unknown", "working");
    await scribe.store("getTaskResult", "unknown");
    await scribe.store("listTasks", "unknown");
    await scribe.store("listTasks", "");
    await scribe.queue("dequeue", "unknown");
    await scribe.queue("dequeueAll", "unknown");
  },

  "a task is its session's own": async (scribe) => {
    const owned = await scribe.create({}, "s1");
    const shared = await scribe.create();
    for (const id of [owned, shared]) {
      for (const session of ["s2", "s1", undefined]) {
        await scribe.store("getTask", id, session);
        await scribe.store("updateTaskStatus", id, "working", `by ${session}`, session);
        await scribe.store("getTaskResult", id, session);
      }
      await scribe.store("storeTaskResult", id, "completed", done, "s2");
      await scribe.store("storeTaskResult", id, "completed", done, "s1");
      for (const session of ["s2", "s1", undefined]) await scribe.store("getTaskResult", id, session);
    }
  },

  "a list has the tasks that the session may see": async (scribe) => {
    await scribe.list();
    for (let each = 0; each < 14; each++) {
      await scribe.create({}, ["s1", "s2", undefined][each % 3]);
      await scribe.wait(1);
    }
    for (const session of ["s1", "s2", "s3", undefined]) await scribe.list(session);
    for (let each = 0; each < 6; each++) await scribe.create({}, "s4");
    for (const session of ["s4", undefined]) await scribe.list(session);
  },

  "a finished task is kept for its ttl, from its end": async (scribe) => {
    const id = await scribe.create({ ttl: 5000 });
    await scribe.wait(4000);
    await scribe.store("storeTaskResult", id, "completed", done);
    await scribe.wait(4999);
    await scribe.store("getTaskResult", id);
    await scribe.wait(1);
    await scribe.store("getTask", id);
    await scribe.store("getTaskResult", id);
    await scribe.list();
    const kept = await scribe.create({ ttl: null });
    await scribe.store("updateTaskStatus", kept, "cancelled");
    await scribe.wait(100_000_000);
    await scribe.store("getTask", kept);
  },

  "messages leave a queue in the order in which they came": async (scribe) => {
    const [one, two] = [await scribe.create({}, "s1"), await scribe.create()];
    const types = ["request", "notification", "response", "error"] as const;
    for (const [index, type] of types.entries()) {
      await scribe.queue("enqueue", one, message(type, index), "s1");
      await scribe.queue("enqueue", two, message(type, 10 + index));
    }
    await scribe.queue("dequeue", one, "s1");
    await scribe.queue("dequeue", one, "s2");
    await scribe.queue("enqueue", one, message("request", 9));
    await scribe.queue("dequeueAll", one);
    await scribe.queue("dequeueAll", one);
    await scribe.queue("dequeue", one);
    await scribe.queue("dequeueAll", two);
  },

  "a queue has a size": async (scribe) => {
    const id = await scribe.create();
    for (const each of [1, 2, 3]) await scribe.queue("enqueue", id, message("request", each), undefined, 2);
    await scribe.queue("dequeue", id);
    await scribe.queue("enqueue", id, message("request", 4), undefined, 2);
    await scribe.queue("dequeueAll", id);
  },

  "a finished task still has its queue": async (scribe) => {
    const id = await scribe.create();
    await scribe.queue("enqueue", id, message("notification", 1));
    await scribe.store("storeTaskResult", id, "completed", done);
    await scribe.queue("enqueue", id, message("notification", 2));
    await scribe.queue("dequeueAll", id);
  },
};

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "Date", "performance"],
    now: Date.UTC(2026, 0, 1),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(storeNames)("on %s, as in the SDK's own store", (name) => {
  it.each(Object.entries(cases))("%s", async (_says, play) => {
    const judge = new Scribe({ store: new InMemoryTaskStore(), queue: new InMemoryTaskMessageQueue() });
    await play(judge);
    vi.setSystemTime(Date.UTC(2026, 0, 1));
    const { taskStore, taskMessageQueue } = await openDurable(name, { ttlMs: null, maxTtlMs: null });
    const ours = new Scribe({ store: taskStore, queue: taskMessageQueue });
    await play(ours);
    expect(ours.log).toEqual(judge.log);
  });
});
