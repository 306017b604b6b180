import type { TaskContext } from "../../runtime/tool/task-context.ts";
import type { OtherRequest, Registry } from "../../runtime/tool/registry.ts";
import { HoldfastError } from "../../task/fault.ts";

/** Has a request answered by the author's server that it came to; `signal` says that nobody wants the answer any more. */
export type Run = (signal: AbortSignal) => Promise<object>;

const methods: readonly OtherRequest[] = ["resources/read", "prompts/get"];

/**
 * Requests that are tasks and that an author's own server answers. That server was made for the connection, for whoever was
 * authorized on it: it cannot be made again, so these tasks end with their process, and say so.
 */
export class HeldRequests {
  readonly #runs = new Map<string, Run>();

  constructor(registry: Registry) {
    for (const method of methods) registry.addOther(method, (_params, task) => this.#run(method, task));
  }

  /** The task of this id is run so; returns the way to forget it. */
  hold(taskId: string, run: Run): () => void {
    this.#runs.set(taskId, run);
    return () => this.#runs.delete(taskId);
  }

  async #run(method: OtherRequest, { id, signal }: TaskContext): Promise<object> {
    const run = this.#runs.get(id);
    if (run !== undefined) return run(signal);
    throw new HoldfastError(
      "internal",
      `The connection on which this ${method} came is gone, and nobody else can answer it. Send it again as a new task.`,
    );
  }
}
