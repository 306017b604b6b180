import { questionKeyOf } from "../../generation/question-key.ts";
import { askUser, type UserAnswer, type UserCallbacks } from "./ask-user.ts";
import type { ClientClock } from "../clock.ts";
import { rpcCodeOf } from "../events/client-events.ts";
import type { InputRequiredTask, OpenQuestion, RemoteTask } from "../task/remote-task.ts";
import { persist } from "../reply/persist.ts";
import type { Reply } from "../reply/reply.ts";
import { replyError } from "../reply/reply-error.ts";
import type { TaskClientError } from "../task-client-error.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import type { KeptAnswers } from "../handles/call-keeper.ts";

interface TaskQuestionsOptions {
  readonly taskId: string;
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** What was answered before to questions with lasting keys, perhaps by another process. */
  readonly answers: KeptAnswers;
  /** Takes what runs on by itself, so that closing the client can wait for it. */
  readonly run: (work: Promise<void>) => void;
  /** Takes what a callback threw that has nobody else to go to. */
  readonly fail: (error: unknown) => void;
}

/**
 * The questions of one task. Each key is asked once and answered once, whatever later polls repeat;
 * several are asked side by side, and each answer is sent as it comes. A question stays open while nobody waits.
 */
export class TaskQuestions {
  readonly #options: TaskQuestionsOptions;
  readonly #seen = new Map<string, OpenQuestion>();
  /** Asked, and its answer not yet acknowledged. */
  readonly #open = new Map<string, AbortController>();
  /**
   * What was said to a key and is not acknowledged, or may be asked for again: should the key go and come back, it is
   * said again, unasked.
   */
  readonly #said = new Map<string, UserAnswer>();
  readonly #refused = new Map<string, TaskClientError>();

  constructor(options: TaskQuestionsOptions) {
    this.#options = options;
  }

  /** Takes what a poll showed: asks what is new, and takes back what is no longer there. */
  see(task: RemoteTask): void {
    const requests = task.status === "input_required" ? task.inputRequests : {};
    for (const [key, controller] of this.#open) {
      if (!Object.hasOwn(requests, key)) controller.abort(new Error("The question is no longer open"));
    }
    for (const [key, question] of Object.entries(requests)) {
      if (this.#isSettled(key, question)) continue;
      this.#seen.set(key, question);
      this.#refused.delete(key);
      const controller = new AbortController();
      this.#open.set(key, controller);
      this.#options.run(this.#settle(key, question, controller.signal));
    }
  }

  /**
   * The error for a question whose answer the server refused although it still asks it: nobody can answer it any
   * more. Looked at only after a poll, since an answer may merely have come too late.
   */
  refusal(task: InputRequiredTask): TaskClientError | undefined {
    for (const [key, error] of this.#refused) if (Object.hasOwn(task.inputRequests, key)) return error;
    return undefined;
  }

  /** Takes every open question back. */
  end(reason: unknown): void {
    for (const controller of this.#open.values()) controller.abort(reason);
  }

  #isSettled(key: string, question: OpenQuestion): boolean {
    const seen = this.#seen.get(key);
    if (seen === undefined) return false;
    return seen === question || this.#open.has(key) || !this.#comesAgain(question);
  }

  /** A request with a name: where the answer to it was lost, it comes again, and only then is it another object. */
  #comesAgain({ params }: OpenQuestion): boolean {
    return !this.#options.protocol.keepsQuestionKeys && questionKeyOf(params) !== undefined;
  }

  async #settle(key: string, question: OpenQuestion, signal: AbortSignal): Promise<void> {
    const { taskId, protocol, clock, callbacks, fail } = this.#options;
    const about = { key, method: question.method, taskId };
    const { events } = callbacks;
    try {
      const answer = this.#said.get(key) ?? (await this.#ask(key, question, signal));
      this.#said.set(key, answer);
      if (answer.kind === "leave_open") return;
      if (answer.kind === "cancel_task") events.tell({ type: "cancel_requested", taskId });
      const send =
        answer.kind === "answer"
          ? () => protocol.answer(taskId, key, answer.result, signal)
          : () => protocol.cancel(taskId, signal);
      const reply = await persist(patiently(send), clock, signal);
      if (!this.#comesAgain(question)) this.#said.delete(key);
      if (reply.kind !== "value") {
        const error = replyError(reply, taskId);
        this.#refused.set(key, error);
        events.tell({ type: "answer_refused", ...about, ...rpcCodeOf(error.error) });
      } else if (answer.kind === "answer") events.tell({ type: "answer_sent", ...about });
      else events.tell({ type: "cancel_acknowledged", taskId });
    } catch (error) {
      this.#seen.delete(key); // no answer has arrived for all we know: it is needed if the key shows again
      if (!signal.aborted) fail(error);
    } finally {
      this.#open.delete(key);
    }
  }

  /** What was answered already is said again, unasked; what the user says now is kept before it is sent. */
  async #ask(key: string, question: OpenQuestion, signal: AbortSignal): Promise<UserAnswer> {
    const { taskId, callbacks, protocol } = this.#options;
    const lasts = protocol.keepsQuestionKeys || this.#comesAgain(question);
    const answers = lasts ? this.#options.answers : undefined;
    const kept = await answers?.get(key);
    if (kept !== undefined) return { kind: "answer", result: kept };
    signal.throwIfAborted();
    const answer = await askUser({ ...question, key, taskId }, callbacks, signal);
    if (answer.kind === "answer") await answers?.keep(key, answer.result);
    return answer;
  }
}

/** A server with a full disk says so with -32603, and takes the same answer later. */
const internalErrorsInARow = 10;

function patiently(send: () => Promise<Reply<undefined>>): () => Promise<Reply<undefined>> {
  let failures = 0;
  return async () => {
    const reply = await send();
    if (reply.kind !== "error" || reply.error.code !== -32603 || ++failures >= internalErrorsInARow)
      return reply;
    const { error } = reply;
    return {
      kind: "lost",
      notReceived: false,
      retryAfterMs: undefined,
      message: error.message,
      cause: undefined,
      error,
    };
  };
}
