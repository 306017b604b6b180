import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { RpcError, type Rpc, type SeenTask } from "./rpc.ts";

const terminal = new Set(["completed", "failed", "cancelled"]);

/** A tree of tasks, as a client knows it: by its root. */
export interface Tree {
  readonly args: { readonly count: number; readonly failing: number | null };
  readonly key: string;
  readonly word: string;
  /** How likely it is cancelled at a poll. */
  readonly cancels: number;
  taskId?: string;
  cancelled?: boolean;
  /** The questions whose answers were acknowledged. */
  readonly answered: Set<string>;
  ended?: SeenTask;
}

/** Trees as a client drives them through any number of servers that die. */
export class Trees {
  readonly all: Tree[] = [];
  readonly violations: string[] = [];
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get open(): readonly Tree[] {
    return this.all.filter(({ ended }) => ended === undefined);
  }

  /** Until so many are open: some are cancelled, and in some a leaf fails. */
  add(open: number): void {
    while (this.open.length < open) {
      const count = 1 + Math.floor(this.#random() * 12);
      const failing = this.#random() < 0.15 ? Math.floor(this.#random() * count) : null;
      const cancels = this.#random() < 0.2 ? 0.1 : 0;
      this.all.push({
        args: { count, failing },
        key: randomUUID(),
        word: randomUUID(),
        cancels,
        answered: new Set(),
      });
    }
  }

  /** Goes on with all until they have ended, or the server is gone. */
  async drive(rpc: Rpc, signal: AbortSignal): Promise<void> {
    await Promise.all(this.open.map((tree) => this.#drive(tree, rpc, signal)));
  }

  async #drive(tree: Tree, rpc: Rpc, signal: AbortSignal): Promise<void> {
    try {
      const taskId = tree.taskId ?? (await rpc.call("tree", tree.args, tree.key)).taskId;
      if (taskId === undefined) throw new RpcError(`No task was made of ${tree.key}`);
      tree.taskId = taskId;
      while (!signal.aborted) {
        const task = await rpc.get(taskId);
        if (terminal.has(task.status)) {
          tree.ended = task;
          return;
        }
        await this.#respond(tree, taskId, task, rpc);
        await pause(8);
      }
    } catch (error) {
      // A server that is gone is what this is about; one that refuses is not.
      if (error instanceof RpcError) this.violations.push(error.message);
    }
  }

  async #respond(tree: Tree, taskId: string, { inputRequests = {} }: SeenTask, rpc: Rpc): Promise<void> {
    if (this.#random() < tree.cancels) {
      tree.cancelled = true; // whether or not the answer arrives
      await rpc.cancel(taskId);
    }
    for (const key of Object.keys(inputRequests)) {
      if (tree.answered.has(key)) this.violations.push(`${taskId} asks ${key} again`);
      if (this.#random() < 0.5) continue;
      await rpc.update(taskId, { [key]: { action: "accept", content: { word: tree.word } } });
      tree.answered.add(key);
    }
  }
}
