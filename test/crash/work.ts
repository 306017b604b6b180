import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { RpcError, type Rpc, type SeenTask } from "./rpc.ts";

export interface Job {
  readonly tool: string;
  readonly args: object;
  readonly key: string;
  readonly toBeCancelled: boolean;
  /** Known once the server acknowledged the task. */
  taskId?: string;
  /** Known once an answer to its question was acknowledged. */
  answer?: string;
  cancelAcknowledged?: boolean;
  /** What `tasks/get` showed when the task had ended; later reads have to be the same. */
  ended?: string;
}

const terminal = new Set(["completed", "failed", "cancelled"]);

/** Jobs as a client drives them, through any number of servers: it knows only what was acknowledged. */
export class Work {
  readonly jobs: Job[] = [];
  readonly violations: string[] = [];
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get open(): number {
    return this.jobs.filter(({ ended }) => ended === undefined).length;
  }

  add(): void {
    const pick = this.#random();
    const count = 1 + Math.floor(this.#random() * 12);
    const [tool, args] =
      pick < 0.3
        ? ["steps", { count }]
        : pick < 0.5
          ? ["parallel", { count }]
          : pick < 0.9
            ? ["asks", {}]
            : ["once", {}];
    this.jobs.push({ tool, args, key: randomUUID(), toBeCancelled: this.#random() < 0.1 });
  }

  /** Drives all open jobs until they have ended or the server is gone; `signal` tells of its death. */
  async drive(rpc: Rpc, signal: AbortSignal): Promise<void> {
    const open = this.jobs.filter(({ ended }) => ended === undefined);
    await Promise.all(
      open.map((job) => this.#driveJob(job, rpc, signal).catch((error: unknown) => this.#note(error))),
    );
  }

  async #driveJob(job: Job, rpc: Rpc, signal: AbortSignal): Promise<void> {
    // A repeated creation under the same key has to find the task that the lost answer was about.
    job.taskId ??= (await rpc.call(job.tool, job.args, job.key)).taskId;
    while (!signal.aborted) {
      const task = await rpc.get(job.taskId);
      if (terminal.has(task.status)) {
        job.ended = JSON.stringify(task);
        return;
      }
      await this.#respond(job, job.taskId, task, rpc);
      await pause(5);
    }
  }

  async #respond(job: Job, taskId: string, task: SeenTask, rpc: Rpc): Promise<void> {
    if (job.toBeCancelled && job.cancelAcknowledged !== true && this.#random() < 0.2) {
      await rpc.cancel(taskId);
      job.cancelAcknowledged = true;
    }
    if (task.inputRequests?.["word"] === undefined) return;
    if (job.answer !== undefined) this.violations.push(`${taskId} asks again what was answered`);
    const word = randomUUID();
    await rpc.update(taskId, { word: { action: "accept", content: { word } } });
    job.answer = word;
  }

  /** A server that is gone is what this is about; one that refuses what it acknowledged is not. */
  #note(error: unknown): void {
    if (error instanceof RpcError) this.violations.push(error.message);
  }
}
