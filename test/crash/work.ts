import { setTimeout as pause } from "node:timers/promises";
import { History } from "../histories/history.ts";
import { CoreRpc } from "./core-rpc.ts";
import { CoreWork, endOf } from "./core-work.ts";
import { anyJob, mayRespond, smallJob, touching, type Job } from "./job.ts";
import { hasEnded, type PatienceMs, Rpc, RpcError, type SeenTask } from "./rpc.ts";

/** Of a request whose connections turn out to be closed: a client has as many as it ever needed at once. */
const mostTries = 10;

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
  /** What its clients asked and were told, at all servers. */
  readonly history = new History();
  readonly #random: () => number;
  readonly #mayRefuse: (error: RpcError) => boolean;

  /** `mayRefuse` says of an error that came from a server whether it could come now without a promise being broken. */
  constructor(random: () => number, mayRefuse: (error: RpcError) => boolean = () => false) {
    this.#random = random;
    this.#mayRefuse = mayRefuse;
  }

  get open(): readonly Job[] {
    return this.jobs.filter(({ ended }) => ended === undefined);
  }

  /** Work for one more server: always some of each kind, and now and then a burst of calls. */
  add(longNaps: boolean, atOnce = 16): readonly Job[] {
    const before = this.jobs.length;
    let open = this.open.filter(({ inBurst }) => !inBurst).length;
    for (; open < atOnce; open++) this.jobs.push(anyJob(this.#random, longNaps));
    if (this.#random() < 0.1) this.jobs.push(...Array.from({ length: 40 }, () => smallJob(this.#random)));
    return this.jobs.slice(before);
  }

  /** With `patienceMs`, clients do not wait longer for an answer: what became of their request they do not know then. */
  serverAt(url: string, patienceMs?: PatienceMs): Server {
    const coreWork = new CoreWork(this.#random, this.violations);
    const core = new CoreRpc(url, this.history, (question) => coreWork.onQuestion(question), patienceMs);
    return { rpc: new Rpc(url, patienceMs, this.history), core, coreWork };
  }

  /** Drives all open jobs until they have ended or the server is gone; `signal` tells of its death. */
  async drive(server: Server, signal: AbortSignal): Promise<void> {
    await Promise.all(this.open.map((job) => this.driveJob(job, server, signal)));
  }

  /** Drives a job until it has ended, the server fails it, or `signal` aborts. */
  async driveJob(job: Job, server: Server, signal: AbortSignal): Promise<void> {
    try {
      await (job.core
        ? server.coreWork.drive(job, server.core, signal)
        : this.#drive(job, server.rpc, signal));
    } catch (error) {
      job.refused = String(error);
      this.#note(error);
    }
  }

  /** What a server shows of a task that has ended. One that closes idle connections as they are used again is asked on another. */
  async endAt(server: Server, job: Job): Promise<string> {
    for (let tries = 1; ; tries++) {
      try {
        return await readEnd(server, job);
      } catch (error) {
        if (tries === mostTries || !isReset(error)) throw error;
      }
    }
  }

  async #drive(job: Job, rpc: Rpc, signal: AbortSignal): Promise<void> {
    const taskId = job.taskId ?? (await this.#call(job, rpc));
    while (taskId !== undefined && !signal.aborted) {
      const task = await rpc.get(taskId);
      if (hasEnded(task)) {
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
    if (!mayRespond(job, task)) return;
    if (job.toBeCancelled && job.cancelAcknowledged !== true && this.#random() < 0.2) {
      job.cancelSentAt ??= Date.now();
      const [, cancel] = await touching(job, rpc.url, () => rpc.cancel(taskId));
      job.cancelAcknowledged = true;
      job.cancel = cancel;
    }
    if (task.inputRequests?.["word"] === undefined) return;
    // What comes after its deadline is acknowledged and ignored, and whoever closes the question may be stopped.
    if (job.answer !== undefined && job.tool !== "deadline")
      this.violations.push(`${job.tool} ${taskId} asks again what was answered`);
    if (this.#random() > job.eagerness) return;
    const { word } = job;
    const answer = (): Promise<unknown> =>
      rpc.update(taskId, { word: { action: "accept", content: { word } } });
    const asked = { kind: "answer", id: taskId, key: "word" } as const;
    const recorded = (): Promise<unknown> =>
      job.tool === "deadline"
        ? answer()
        : this.history.record(asked, answer, () => ({ ...asked, outcome: "acknowledged" }));
    await touching(job, rpc.url, recorded);
    job.answer = word;
  }

  /** A server that is gone is what this is about; one that refuses what it acknowledged is not. */
  #note(error: unknown): void {
    if (error instanceof RpcError && !this.#mayRefuse(error)) this.violations.push(error.message);
  }
}

async function readEnd({ rpc, core }: Server, { core: isCore, taskId = "" }: Job): Promise<string> {
  return isCore ? endOf(await core.get(taskId), taskId, core) : JSON.stringify(await rpc.get(taskId));
}

function isReset(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(String(cause?.code));
}
