import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { CoreRpc } from "./core-rpc.ts";
import type { CoreWork } from "./core-work.ts";
import { anyJob, smallJob, type Job } from "./job.ts";
import { RpcError, type Rpc, type SeenTask } from "./rpc.ts";

const terminal = new Set(["completed", "failed", "cancelled"]);

/** The ways to a server, in either generation, and what is known of the questions of the older one. */
export interface Server {
  readonly rpc: Rpc;
  readonly core: CoreRpc;
  readonly coreWork: CoreWork;
}

/** Jobs as a client drives them, through any number of servers: it knows only what was acknowledged. */
export class Work {
  readonly jobs: Job[] = [];
  readonly violations: string[] = [];
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  get open(): readonly Job[] {
    return this.jobs.filter(({ ended }) => ended === undefined);
  }

  /** Work for one more server: always some of each kind, and now and then a burst of calls. */
  add(longNaps: boolean): void {
    let open = this.open.filter(({ inBurst }) => !inBurst).length;
    for (; open < 16; open++) this.jobs.push(anyJob(this.#random, longNaps));
    if (this.#random() < 0.1) this.jobs.push(...Array.from({ length: 40 }, () => smallJob(this.#random)));
  }

  /** Drives all open jobs until they have ended or the server is gone; `signal` tells of its death. */
  async drive({ rpc, core, coreWork }: Server, signal: AbortSignal): Promise<void> {
    const driven = (job: Job): Promise<void> =>
      job.core ? coreWork.drive(job, core, signal) : this.#driveJob(job, rpc, signal);
    await Promise.all(this.open.map((job) => driven(job).catch((error: unknown) => this.#note(error))));
  }

  async #driveJob(job: Job, rpc: Rpc, signal: AbortSignal): Promise<void> {
    const taskId = job.taskId ?? (await this.#call(job, rpc));
    while (taskId !== undefined && !signal.aborted) {
      const task = await rpc.get(taskId);
      if (terminal.has(task.status)) {
        job.ended = JSON.stringify(task);
        return;
      }
      await this.#respond(job, taskId, task, rpc);
      await pause(5);
    }
  }

  /** A call that is repeated under its key has to find the task that a lost answer was about. */
  async #call(job: Job, rpc: Rpc): Promise<string | undefined> {
    const answer = await rpc.call(job.tool, job.args, job.key);
    if (answer.taskId !== undefined) return (job.taskId = answer.taskId);
    job.ended = JSON.stringify({ status: "direct", result: answer });
    return undefined;
  }

  async #respond(job: Job, taskId: string, task: SeenTask, rpc: Rpc): Promise<void> {
    if (job.toBeCancelled && job.cancelAcknowledged !== true && this.#random() < 0.2) {
      await rpc.cancel(taskId);
      job.cancelAcknowledged = true;
    }
    if (task.inputRequests?.["word"] === undefined) return;
    if (job.answer !== undefined) this.violations.push(`${taskId} asks again what was answered`);
    if (this.#random() > job.eagerness) return;
    const word = randomUUID();
    await rpc.update(taskId, { word: { action: "accept", content: { word } } });
    job.answer = word;
  }

  /** A server that is gone is what this is about; one that refuses what it acknowledged is not. */
  #note(error: unknown): void {
    if (error instanceof RpcError) this.violations.push(error.message);
  }
}
