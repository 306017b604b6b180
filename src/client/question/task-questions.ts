import { questionKeyOf } from "../../generation/extensions.ts";
import { askUser, type UserAnswer, type UserCallbacks } from "./ask-user.ts";
import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock } from "../clock.ts";
import { rpcCodeOf } from "../client-events.ts";
import type { InputRequiredTask, OpenQuestion, RemoteTask } from "../task/remote-task.ts";
import { sendWithRetries } from "../reply/retry.ts";
import { replyError } from "../reply/reply.ts";
import type { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import type { StoredAnswers } from "../handles/call-journal.ts";

interface TaskQuestionsOptions {
  readonly taskId: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** Stored answers to questions with lasting keys, perhaps of an earlier process. */
  readonly answers: StoredAnswers;
  readonly background: BackgroundWork;
  /** Called with what a callback threw. */
  readonly fail: (error: unknown) => void;
}

/**
 * The questions of one task. Each key is asked and answered once, even if later polls repeat it.
 * Questions are asked in parallel, and each answer is sent as it comes. A question stays open while nobody waits.
 */
export class TaskQuestions {
  readonly #options: TaskQuestionsOptions;
  readonly #asked = new Map<string, OpenQuestion>();
  /** Questions whose answer is not acknowledged yet. */
  readonly #open = new Map<string, AbortController>();
  /**
   * Answers that are not acknowledged, or may be needed again: if the key disappears and comes back, the answer is
   * sent again without asking.
   */
  readonly #answers = new Map<string, UserAnswer>();
  readonly #refused = new Map<string, TaskClientError>();

  constructor(options: TaskQuestionsOptions) {
    this.#options = options;
  }

  /** Asks the new questions of a polled task, and withdraws those that are no longer there. */
  see(task: RemoteTask): void {
    const requests = task.status === "input_required" ? task.inputRequests : {};
    for (const [key, controller] of this.#open) {
      if (!Object.hasOwn(requests, key)) controller.abort(new Error("The question is no longer open"));
    }
    for (const [key, question] of Object.entries(requests)) {
      if (this.#isSettled(key, question)) continue;
      this.#asked.set(key, question);
      this.#refused.delete(key);
      const controller = new AbortController();
      this.#open.set(key, controller);
      this.#options.background.run(this.#settle(key, question, controller.signal));
    }
  }

  /**
   * The error for a question whose answer the server refused and that is still open: it cannot be answered any
   * more. Call it after a poll, since the answer may only have come too late.
   */
  refusal(task: InputRequiredTask): TaskClientError | undefined {
    for (const [key, error] of this.#refused) if (Object.hasOwn(task.inputRequests, key)) return error;
    return undefined;
  }

  /** Withdraws all open questions. */
  end(reason: unknown): void {
    for (const controller of this.#open.values()) controller.abort(reason);
  }

  #isSettled(key: string, question: OpenQuestion): boolean {
    const seen = this.#asked.get(key);
    if (seen === undefined) return false;
    return seen === question || this.#open.has(key) || !this.#isAskedAgain(question);
  }

  /** Whether the server asks again, as another object, after the answer was lost: a request with a key. */
  #isAskedAgain({ params }: OpenQuestion): boolean {
    return !this.#options.protocol.keepsQuestionKeys && questionKeyOf(params) !== undefined;
  }

  async #settle(key: string, question: OpenQuestion, signal: AbortSignal): Promise<void> {
    const { taskId, protocol, clock, callbacks, fail } = this.#options;
    const about = { key, method: question.method, taskId };
    const { events } = callbacks;
    try {
      const answer = this.#answers.get(key) ?? (await this.#ask(key, question, signal));
      this.#answers.set(key, answer);
      if (answer.kind === "leave_open") return;
      if (answer.kind === "cancel_task") events.emit({ type: "cancel_requested", taskId });
      const send =
        answer.kind === "answer"
          ? () => protocol.answer(taskId, key, answer.result, signal)
          : () => protocol.cancel(taskId, signal);
      const reply = await sendWithRetries(send, clock, signal);
      if (!this.#isAskedAgain(question)) this.#answers.delete(key);
      if (reply.kind !== "value") {
        const error = replyError(reply, taskId);
        this.#refused.set(key, error);
        events.emit({ type: "answer_refused", ...about, ...rpcCodeOf(error.error) });
      } else if (answer.kind === "answer") events.emit({ type: "answer_sent", ...about });
      else events.emit({ type: "cancel_acknowledged", taskId });
    } catch (error) {
      this.#asked.delete(key); // perhaps no answer has arrived: ask again if the key comes back
      if (!signal.aborted) fail(error);
    } finally {
      this.#open.delete(key);
    }
  }

  /** Returns the stored answer, or asks the user and stores the answer before it is sent. */
  async #ask(key: string, question: OpenQuestion, signal: AbortSignal): Promise<UserAnswer> {
    const { taskId, callbacks, protocol } = this.#options;
    const lasts = protocol.keepsQuestionKeys || this.#isAskedAgain(question);
    const answers = lasts ? this.#options.answers : undefined;
    const kept = await answers?.get(key);
    if (kept !== undefined) return { kind: "answer", result: kept };
    signal.throwIfAborted();
    const answer = await askUser({ ...question, key, taskId }, callbacks, signal);
    if (answer.kind === "answer") await answers?.keep(key, answer.result);
    return answer;
  }
}
