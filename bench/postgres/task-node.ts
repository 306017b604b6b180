import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Role } from "../../src/runtime/options.ts";
import type { Requestor, Runtime, TaskCall } from "../../src/runtime/runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { taskId } from "../../src/task/record-changes.ts";

const nobody: Requestor = { generation: "2026-07-28", principal: null };
const call: TaskCall = { ...nobody, tool: "add", arguments: { a: 19, b: 23 }, origin: { capabilities: {} } };

export interface TaskNodeOptions {
  /** Without `work` it leaves its tasks to others. */
  readonly roles?: readonly Role[];
  /** Whether the work of a task is a step, which is journalled. */
  readonly hasStep?: boolean;
  /** More such steps, one after another. */
  readonly steps?: number;
  /** The length of its result. */
  readonly bytes?: number;
  /** Of the tool with steps; left out: the default. */
  readonly onCrash?: "resume";
  /** How many handlers may run at a time. Default 64. */
  readonly concurrency?: number;
}

/** A process of the library without its servers: it creates, runs and reads tasks through the runtime. */
export class TaskNode implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #letGo: () => void;

  private constructor(runtime: Runtime, letGo: () => void) {
    this.#runtime = runtime;
    this.#letGo = letGo;
  }

  /** With the default options, except for the number of tasks that may wait. */
  static async start(
    store: TaskStore,
    {
      roles = ["serve", "work"],
      hasStep = false,
      steps = 0,
      bytes = 2,
      onCrash,
      concurrency = 64,
    }: TaskNodeOptions = {},
  ): Promise<TaskNode> {
    const registry = new Registry();
    const held = Promise.withResolvers<void>();
    registry.add("hold", {}, async () => {
      await held.promise;
      return { content: [] };
    });
    registry.add("wait", {}, (_, task) => task.waitForEvent("never", "never"));
    registry.add("add", onCrash === undefined ? {} : { onCrash }, async (_, task) => {
      if (hasStep) await task.step("add", async () => 19 + 23);
      for (let n = 0; n < steps; n++) await task.step(`add ${n}`, async () => 19 + 23);
      return { content: [{ type: "text", text: "42".padEnd(bytes, ".") }] };
    });
    const limits = {
      maxUnfinished: null,
      maxUnfinishedPerPrincipal: null,
      maxRetained: null,
      maxRetainedPerPrincipal: null,
      maxBodyBytes: 2 * bytes + 1_048_576,
    };
    const options = { roles, concurrency, ...limits };
    const runtime = createRuntime({ store, registry, options });
    await runtime.start();
    return new TaskNode(runtime, held.resolve);
  }

  /** Creates a task; resolves when it is durable. */
  async create(id = newId(), more: Partial<TaskCall> = {}): Promise<void> {
    await this.#runtime.create({ ...call, ...more, id });
  }

  /** The whole life of a task, as its client sees it: created, run by any process, and read once it has ended. */
  async life(principal: string | null = null): Promise<void> {
    const id = newId();
    let changed = Promise.withResolvers<void>();
    const unwatch = this.watch(id, () => changed.resolve());
    try {
      await this.create(id, { principal });
      for (;;) {
        await changed.promise;
        changed = Promise.withResolvers(); // before it is read: what changes meanwhile is not in what is read
        const { task, outcome } = await this.#runtime.get(id, { ...nobody, principal });
        if (!isTerminal(task.state)) continue;
        if (outcome?.kind !== "result") throw new Error(`A task ended unexpectedly: ${JSON.stringify(task)}`);
        return;
      }
    } finally {
      unwatch();
    }
  }

  /** Calls `watcher` for each change of an existing or future task. */
  watch(id: string, watcher: () => void): () => void {
    return this.#runtime.watch([id], watcher);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#letGo();
    return this.#runtime.stop();
  }
}

export function newId(): string {
  return taskId(systemClock.now(), (size) => systemClock.randomBytes(size));
}
