import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { RuntimeOptions } from "../../src/runtime/options.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { Requestor, Runtime } from "../../src/runtime/runtime.ts";
import type { ToolConfig, ToolHandler } from "../../src/runtime/tool/tool.ts";
import type { TaskStore } from "../../src/store/store.ts";
import type { TaskSnapshot } from "../../src/task/record.ts";
import { isTerminal } from "../../src/task/outcome.ts";

export type RealHandler = ToolHandler<Record<string, unknown>>;

export interface RealTools {
  readonly [name: string]: RealHandler | { config: ToolConfig<undefined>; handler: RealHandler };
}

/** A caller who is not told apart from others. */
export const anyone: Requestor = { generation: "2026-07-28", principal: null };

/** A runtime as a server has it: with the true clock, on a store that works in its own time. */
export class RealRuntime {
  readonly runtime: Runtime;
  readonly store: TaskStore;
  readonly errors: unknown[] = [];
  readonly #firstError = Promise.withResolvers<unknown>();

  constructor(store: TaskStore, tools: RealTools, options: RuntimeOptions = {}) {
    this.store = store;
    const registry = new Registry();
    for (const [name, tool] of Object.entries(tools)) {
      if (typeof tool === "function") registry.add(name, {}, tool);
      else registry.add(name, tool.config, tool.handler);
    }
    const onError = (error: unknown): void => {
      this.errors.push(error);
      this.#firstError.resolve(error);
    };
    this.runtime = createRuntime({ store, registry, options, onError });
  }

  /** Resolves with the first fault that no caller was told of. */
  get firstError(): Promise<unknown> {
    return this.#firstError.promise;
  }

  static async started(store: TaskStore, tools: RealTools, options?: RuntimeOptions): Promise<RealRuntime> {
    const started = new RealRuntime(store, tools, options);
    await started.runtime.start();
    return started;
  }

  /** The id of a new task, which is durable. */
  async call(tool: string, args: object = {}): Promise<string> {
    const origin = { capabilities: { elicitation: {} } };
    return (await this.runtime.create({ ...anyone, tool, arguments: args, origin })).task.id;
  }

  get(id: string): Promise<TaskSnapshot> {
    return this.runtime.get(id, anyone);
  }

  answer(id: string, key: string, value: object): Promise<void> {
    return this.runtime.answer(id, anyone, [{ key, value: JSON.stringify(value) }]);
  }

  /** Resolves with the task once `wanted` holds for it; looks at each commit, and nowhere else. */
  async until(id: string, wanted: (snapshot: TaskSnapshot) => boolean): Promise<TaskSnapshot> {
    let change = Promise.withResolvers<void>();
    const unsubscribe = this.store.subscribe((changes) => {
      if (changes === "gap" || changes.some((each) => each.id === id)) change.resolve();
    });
    try {
      for (;;) {
        change = Promise.withResolvers<void>(); // before the read, so that no commit falls between the two
        const snapshot = await this.get(id);
        if (wanted(snapshot)) return snapshot;
        await change.promise;
      }
    } finally {
      unsubscribe();
    }
  }

  ended(id: string): Promise<TaskSnapshot> {
    return this.until(id, ({ task }) => isTerminal(task.state));
  }
}
