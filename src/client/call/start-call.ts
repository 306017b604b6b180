import type { JSONRPCNotification, Progress } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../generation/message.ts";
import { TaskClientError } from "../task-client-error.ts";
import type { AnsweredRound, CallAnswer, TaskProtocol, ToolCall } from "../task-protocol.ts";
import { type Trouble, sendWithRetries } from "../reply/retry.ts";
import { tooOldToRepeat } from "./pending-call.ts";
import { notRepeatableData } from "../../generation/extensions.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { askUser, type InputResult, type UserCallbacks } from "../question/ask-user.ts";
import type { ClientClock } from "../clock.ts";
import { type ClientEventData, failureOf, rpcCodeOf } from "../client-events.ts";
import { type Reply, replyError, rpcErrorIn } from "../reply/reply.ts";
import type { OpenQuestion } from "../task/remote-task.ts";

export type OnProgress = (progress: Progress) => unknown;

/** The progress reports of one call. */
export interface ProgressReports {
  readonly token: string;
  stop(): void;
  /** The call became a task: they go on until it has ended. */
  followTask(taskId: string): void;
}

const tokenPrefix = "holdfast-progress-";

/**
 * Passes progress notifications to their calls. A token is valid until its call, or the task of the call, has ended
 * (C-105, C-108).
 */
export class ProgressTokens {
  readonly #callbacks = new Map<string, OnProgress>();
  /** By task id. */
  readonly #tokens = new Map<string, string>();
  readonly #onError: (error: unknown) => void;
  #count = 0;

  /** `onError` is called with what a progress callback throws or rejects with. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  open(onProgress: OnProgress): ProgressReports {
    const token = `${tokenPrefix}${++this.#count}`;
    this.#callbacks.set(token, onProgress);
    return {
      token,
      stop: () => void this.#callbacks.delete(token),
      followTask: (taskId) => void this.#tokens.set(taskId, token),
    };
  }

  taskEnded(taskId: string): void {
    const token = this.#tokens.get(taskId);
    this.#tokens.delete(taskId);
    if (token !== undefined) this.#callbacks.delete(token);
  }

  /** Returns whether the notification is about a call of this client, also if it comes late. */
  handle({ method, params }: JSONRPCNotification): boolean {
    if (method !== "notifications/progress") return false;
    const token = params?.["progressToken"];
    if (typeof token !== "string" || !token.startsWith(tokenPrefix)) return false;
    const progress = readProgress(params);
    const callback = this.#callbacks.get(token);
    if (progress !== undefined && callback !== undefined) this.#report(callback, progress);
    return true;
  }

  #report(callback: OnProgress, progress: Progress): void {
    try {
      const returned = callback(progress);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#onError(error));
    } catch (error) {
      this.#onError(error);
    }
  }
}

function readProgress(params: unknown): Progress | undefined {
  if (!isJsonObject(params) || typeof params["progress"] !== "number") return undefined;
  const { progress, total, message } = params;
  return {
    progress,
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message }),
  };
}

export interface StartServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  /** How long to wait before a call that the server wants to get again, in milliseconds. */
  readonly pauseMs: number;
}

interface SendServices extends StartServices {
  /** Called when the server gave no answer, and with null when it answers again. */
  readonly onTrouble: (trouble: Trouble | null) => void;
}

/** The earlier attempts of the same call. */
interface EarlierAttempt {
  /** When the call was first sent, in epoch milliseconds, so that it may have arrived; undefined for a new call. */
  readonly sentAt: number | undefined;
  /** The answers that it was last sent with. */
  readonly round: AnsweredRound | undefined;
  /** Stores a round before it is sent, so that the next process need not ask again. */
  readonly recordRound: (round: AnsweredRound) => Promise<void>;
}

/** The call fails if the server asks for more rounds of input. */
const maxRounds = 100;

export type StartedCall =
  | Exclude<CallAnswer, { kind: "questions" }>
  /** There is no task, and there will be none. */
  | { readonly kind: "refused"; readonly error: unknown };

/**
 * Sends a call until the server answers with a result or a task. Before that the server may ask for input in
 * rounds; the questions of each round are new, even under the same keys (X-P-018).
 *
 * A call is repeated only if it cannot create a second task: after a failure that proves that the server did not
 * begin (no connection, HTTP 429), and after any other lost answer only while the server recognises repeated calls
 * by their idempotency keys. Otherwise the caller gets the error. Such a server refuses to repeat a tool that makes
 * no task, since it would run twice.
 *
 * Rejects if there may be a task nevertheless.
 */
export async function startCall(
  call: Omit<ToolCall, "round" | "repeat">,
  services: SendServices,
  signal: AbortSignal,
  earlier: EarlierAttempt,
): Promise<StartedCall> {
  const { events } = services.callbacks;
  const about = { callId: events.nextCallId(), tool: call.name };
  try {
    const started = await untilStarted(call, about, services, signal, earlier);
    if (started.kind === "task") events.emit({ type: "task_created", ...about, taskId: started.taskId });
    if (started.kind === "refused") {
      events.emit({ type: "call_failed", ...about, ...failureOf(started.error) });
    }
    return started;
  } catch (error) {
    events.emit({ type: "call_failed", ...about, ...failureOf(error) });
    throw error;
  }
}

async function untilStarted(
  call: Omit<ToolCall, "round" | "repeat">,
  about: { readonly callId: string; readonly tool: string },
  services: SendServices,
  signal: AbortSignal,
  earlier: EarlierAttempt,
): Promise<StartedCall> {
  const { protocol, clock, pauseMs, callbacks, onTrouble } = services;
  const { events } = callbacks;
  const recognisedMs = protocol.recognisedMs(call.ttlMs);
  const { sentAt: firstSentAt } = earlier;
  let { round } = earlier;
  // When the call may have arrived, by the monotonic clock.
  let arrivedAt =
    firstSentAt === undefined ? undefined : clock.elapsed() - Math.max(0, clock.now() - firstSentAt);
  for (let rounds = 0; rounds < maxRounds; rounds++) {
    let repeat = arrivedAt !== undefined;
    let isTroubled = false;
    let attempt = 0;
    let lostBy: unknown;
    const sent = { ...call, round };
    const send = async (): Promise<Reply<CallAnswer>> => {
      const sentAt = clock.elapsed();
      const message = arrivedAt === undefined ? undefined : tooOldToRepeat(sentAt - arrivedAt, recognisedMs);
      if (message !== undefined)
        return { kind: "bad", code: "connection", isFinal: true, message, cause: lostBy };
      events.emit({ type: "call_sent", ...about, attempt: ++attempt, repeat });
      const reply = await protocol.call({ ...sent, repeat }, signal);
      if (reply.kind === "lost" && !reply.notReceived) arrivedAt ??= sentAt;
      if (reply.kind === "lost") lostBy = reply.cause;
      return reply;
    };
    const reply = await sendWithRetries(send, clock, signal, {
      mayRepeat: (failed) => {
        if (failed.kind !== "lost") return false;
        repeat ||= !failed.notReceived;
        return failed.notReceived || protocol.recognisesRepeats;
      },
      onPause: (trouble, failed) => {
        const { retryInMs } = trouble;
        events.emit({ type: "call_delayed", ...about, ...rpcCodeOf(rpcErrorIn(failed)), retryInMs });
        onTrouble(trouble);
        isTroubled = true;
      },
    });
    if (isTroubled && reply.kind === "value") onTrouble(null);
    if (repeat && reply.kind === "error" && isNotRepeatable(reply.error)) {
      const message = "The answer was lost, and the tool creates no task that could be found again";
      return refused(new TaskClientError("connection", message, { error: reply.error }));
    }
    if (reply.kind === "error" && reply.error.code === -32602 && isFrom(earlier, round)) {
      round = undefined; // the stored requestState has expired: start over
      continue;
    }
    if (reply.kind !== "value") {
      const error = replyError(reply);
      if (repeat || reply.kind === "lost" || error.code === "protocol") throw error;
      return refused(error);
    }
    events.emit({ type: "call_answered", ...about, ...answerOf(reply.value) });
    if (reply.value.kind !== "questions") return reply.value;
    const { questions, requestState } = reply.value;
    arrivedAt = undefined;
    // Without questions the server only wants to be called again.
    if (questions.size === 0) await clock.sleep(pauseMs, signal);
    try {
      const inputResponses =
        questions.size === 0 ? undefined : await askAll(questions, about.callId, callbacks, signal);
      round = { inputResponses, requestState };
      if (inputResponses !== undefined) await earlier.recordRound(round);
    } catch (error) {
      if (signal.aborted) throw error;
      return refused(error);
    }
  }
  return refused(
    new TaskClientError("protocol", `The server still asks for input after ${maxRounds} rounds`),
  );
}

function isFrom(earlier: EarlierAttempt, round: AnsweredRound | undefined): boolean {
  return round !== undefined && round === earlier.round;
}

function refused(error: unknown): StartedCall {
  return { kind: "refused", error };
}

function answerOf(
  answer: CallAnswer,
): Pick<Extract<ClientEventData, { type: "call_answered" }>, "answer" | "isError" | "taskId"> {
  switch (answer.kind) {
    case "result":
      return { answer: "result", isError: answer.result.isError === true };
    case "task":
      return { answer: "task", taskId: answer.taskId };
    case "questions":
      return { answer: "questions" };
  }
}

function isNotRepeatable({ data }: JsonRpcError): boolean {
  return isJsonObject(data) && Object.keys(notRepeatableData).every((name) => data[name] === true);
}

/** Asks a round's questions in parallel. If one cannot be answered, withdraws the others. */
async function askAll(
  questions: ReadonlyMap<string, OpenQuestion>,
  callId: string,
  callbacks: UserCallbacks,
  signal: AbortSignal,
): Promise<Record<string, InputResult>> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    const asked = [...questions].map(async ([key, question]): Promise<[string, InputResult]> => {
      const answer = await askUser({ ...question, key, taskId: null, callId }, callbacks, either);
      if (answer.kind === "answer") return [key, answer.result];
      const message = `The server's question (${question.method}) could not be answered`;
      throw new TaskClientError("unanswered", message, { cause: answer.error });
    });
    return Object.fromEntries(await Promise.all(asked));
  } finally {
    over.abort(new Error("The question is no longer open"));
  }
}
