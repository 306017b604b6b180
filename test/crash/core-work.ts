import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { resultOf, type CoreRpc, type Question } from "./core-rpc.ts";
import { asksWithoutLimit, mayRespond, touch, touching, type Job } from "./job.ts";
import { hasEnded, type SeenTask } from "./rpc.ts";

/** Jobs as a client of 2025-11-25 drives them on one server. */
export class CoreWork {
  readonly #random: () => number;
  readonly #violations: string[];
  readonly #since = performance.now();
  /** By task, what came and was not answered yet. */
  readonly #questions = new Map<string, Question>();
  /** Tasks whose questions came, on this server. */
  readonly #asked = new Set<string>();
  /** Tasks whose questions were seen to be closed, on this server. */
  readonly #closed = new Set<string>();
  readonly #byTask = new Map<string, Job>();

  constructor(random: () => number, violations: string[]) {
    this.#random = random;
    this.#violations = violations;
  }

  onQuestion(question: Question): void {
    const { taskId } = question;
    const answered = this.#byTask.get(taskId)?.answered;
    // What another server was shown to be answered, this one may have asked before it was.
    if (answered !== undefined && (answered.at < this.#since || answered.servers.has(this)))
      this.#violations.push(`${taskId} asks again what was answered`);
    this.#asked.add(taskId);
    this.#questions.set(taskId, question);
  }

  async drive(job: Job, rpc: CoreRpc, signal: AbortSignal): Promise<void> {
    const taskId = (job.taskId ??= await rpc.call(job.tool, job.args, job.key));
    this.#byTask.set(taskId, job);
    // Some wait for the result from the start, and are asked there; others ask for it at the end.
    if (job.waits) rpc.outcome(taskId).catch(() => undefined);
    while (!signal.aborted) {
      const hadAsked = this.#asked.has(taskId);
      const task = await rpc.get(taskId);
      const isClosed = hadAsked && task.status !== "input_required";
      if (isClosed) this.#noteAnswered(job, taskId);
      if (hasEnded(task)) {
        job.ended = await endOf(task, taskId, rpc);
        if (isClosed) this.#noteAnswered(job, taskId);
        return;
      }
      if (mayRespond(job, task)) await this.#respond(job, taskId, rpc);
      await pause(5);
    }
  }

  async #respond(job: Job, taskId: string, rpc: CoreRpc): Promise<void> {
    if (job.toBeCancelled && job.cancelAcknowledged !== true && this.#random() < 0.2) {
      const [acknowledged, cancel] = await touching(job, rpc.url, () => rpc.cancel(taskId));
      job.cancelAcknowledged = acknowledged;
      if (acknowledged) job.cancel = cancel;
    }
    const question = this.#questions.get(taskId);
    if (question === undefined || this.#random() > job.eagerness) return;
    this.#questions.delete(taskId);
    job.replied = true;
    // A reply is accepted before it is stored, which may be after an outage: it is on its way until its question is seen to be closed.
    job.replies = [...(job.replies ?? []), touch(job, rpc.url)];
    await question.answer(job.word);
  }

  /**
   * A task leaves input_required when its question is closed, for good: by the answer, or by its timeout. What the server asked
   * before it first showed that, on another connection, has come when it shows it for the second time.
   */
  #noteAnswered(job: Job, taskId: string): void {
    for (const reply of job.replies ?? []) reply.until = Date.now();
    delete job.replies;
    job.answered ??= { at: performance.now(), servers: new Set() };
    if (this.#closed.has(taskId)) job.answered.servers.add(this);
    this.#closed.add(taskId);
    if (asksWithoutLimit.has(job.tool) && job.replied === true && job.cancelAcknowledged !== true)
      job.answer = job.word;
  }
}

/** The task and its outcome, as every later server has to show them. */
export async function endOf(task: SeenTask, taskId: string, rpc: CoreRpc): Promise<string> {
  const answer = await rpc.outcome(taskId);
  // An error may be the server's, and not what became of the task.
  if (task.status === "completed" || ("error" in answer && answer.error.message.includes("not answering")))
    resultOf(answer, `tasks/result ${taskId}`);
  return JSON.stringify({ ...task, ...answer, jsonrpc: undefined, id: undefined });
}
