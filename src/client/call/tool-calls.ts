import type { CallToolResult } from "@modelcontextprotocol/client";
import type { BackgroundWork } from "../background-work.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import type { StoredCall } from "../handles/handle-store.ts";
import type { CallAndWaitOptions, CallOptions } from "../task-client.ts";
import { withReference, TaskClientError } from "../task-client-error.ts";
import type { AnsweredRound, CallAnswer, TaskProtocol, ToolCall } from "../task-protocol.ts";
import type { TaskHandle, Trouble, WaitOptions } from "../task/task-handle.ts";
import type { KnownTask, TaskOrigin } from "../task/task-watch.ts";
import { assertMs, assertWait, WaitLimit } from "../task/wait-limit.ts";
import type { HandleOptions } from "../task/watched-handle.ts";
import { directHandle } from "./direct-handle.ts";
import { makeIdempotencyKey, tooOldToRepeat } from "./idempotency.ts";
import { type PendingCall, pendingCall } from "./pending-call.ts";
import type { ProgressTokens } from "./progress-tokens.ts";
import { notRepeatableData } from "../../generation/extensions.ts";
import { isJsonObject } from "../../generation/message.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { askUser, type UserCallbacks } from "../question/ask-user.ts";
import type { ClientClock } from "../clock.ts";
import { failureOf, rpcCodeOf, type ClientEventData } from "../client-events.ts";
import type { InputResult } from "../question/input-request.ts";
import { sendWithRetries } from "../reply/retry.ts";
import { type Reply, replyError, rpcErrorIn } from "../reply/reply.ts";
import type { OpenQuestion } from "../task/remote-task.ts";

export interface ToolCallServices extends StartServices {
  readonly journal: CallJournal;
  readonly background: BackgroundWork;
  readonly progress: ProgressTokens;
  readonly handle: (
    taskId: string,
    origin: TaskOrigin,
    known: KnownTask,
    options?: HandleOptions,
  ) => TaskHandle;
}

type Sending =
  /** `findsAgain`: the caller or the next process can find the task again, so it may continue if its answer comes too late. */
  | { readonly kind: "new"; readonly findsAgain: boolean }
  /** The call comes from the store, so it may have been sent before. */
  | { readonly kind: "again" };

type StartOptions = WaitOptions & Pick<CallOptions, "onProgress" | "deleteAfterFetch">;

const cancelOnAbortMs = 5_000;

/** The tool calls of a client. Its journal keeps each one from before it is sent until its outcome is delivered. */
export class ToolCalls {
  readonly #services: ToolCallServices;

  constructor(services: ToolCallServices) {
    this.#services = services;
  }

  /** Starts a call and waits for its result. */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { onUpdate, onTask, cancelOnAbort = false, ...options }: CallAndWaitOptions,
  ): Promise<CallToolResult> {
    assertWait(options);
    const limit = new WaitLimit(options, this.#services.clock);
    const limited = { ...options, signal: limit.signal, timeoutMs: undefined };
    let handle: TaskHandle | undefined;
    try {
      handle = await this.start(name, args, { ...limited, cancelOnAbort });
      limit.reference = handle.reference ?? undefined;
      if (handle.reference !== null) await onTask?.(handle.reference);
      if (handle.reference !== null && onUpdate !== undefined) {
        for await (const task of handle.updates(limited)) await onUpdate(task);
        // The task has ended, so return its result even if the time limit has passed meanwhile.
        return await handle.result();
      }
      return await handle.result(limited);
    } catch (error) {
      const { signal } = options;
      if (signal?.aborted !== true || error !== signal.reason || handle?.reference == null) throw error;
      if (cancelOnAbort && (await this.cancel(handle))) throw error;
      const message = `The call was aborted, and its task goes on${cancelOnAbort ? ", since it could not be cancelled" : ""}`;
      throw new TaskClientError("aborted", message, { reference: handle.reference, cause: error });
    } finally {
      limit.clear();
    }
  }

  async start(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { idempotencyKey, ttlMs, cancelOnAbort = false, ...options }: CallAndWaitOptions,
  ): Promise<TaskHandle> {
    assertMs("ttlMs", ttlMs);
    assertWait(options);
    const { clock, journal } = this.#services;
    const key = idempotencyKey ?? makeIdempotencyKey();
    const call = journal.entryFor({ key, tool: name, args, ttlMs, startedAt: clock.now() });
    const findsAgain = idempotencyKey !== undefined || (journal.isPersistent && !cancelOnAbort);
    return this.#start(call, { kind: "new", findsAgain }, options);
  }

  /** Calls of this client, or of earlier ones, whose outcomes were not delivered. */
  async pending(): Promise<readonly PendingCall[]> {
    const { journal, clock, protocol, background, handle } = this.#services;
    background.closing.throwIfAborted();
    const services = {
      journal,
      now: () => clock.now(),
      protocol,
      resume: (taskId: string, tool: string) => {
        background.closing.throwIfAborted();
        return handle(taskId, "stored", { tool });
      },
      sendAgain: async (call: StoredCall, options: WaitOptions) =>
        this.#start(call, { kind: "again" }, options),
    };
    return (await journal.list()).map((call) => pendingCall(call, services));
  }

  /** Tries to cancel within five seconds, for a caller that has given up the task. Resolves with whether that worked. */
  async cancel(handle: Pick<TaskHandle, "taskId" | "cancel">): Promise<boolean> {
    const { clock, journal } = this.#services;
    const deadline = clock.deadline(cancelOnAbortMs);
    try {
      await handle.cancel({ signal: deadline.signal });
      // Its outcome will not be delivered.
      if (handle.taskId !== null) journal.removeTask(handle.taskId);
      return true;
    } catch {
      return false;
    } finally {
      deadline.clear();
    }
  }

  /** The answer to a call came after its caller gave up: a task that nobody can find is cancelled. */
  async #late(entry: StoredCall, answer: CallAnswer, sending: Sending): Promise<void> {
    const { journal, handle } = this.#services;
    if (answer.kind !== "task") return journal.removeCall(entry);
    const { taskId } = answer;
    if (sending.kind === "again" || sending.findsAgain) return journal.recordLateTask(entry, taskId);
    if (await this.cancel(handle(taskId, "created", { tool: entry.tool }))) journal.removeCall(entry);
    else journal.recordLateTask(entry, taskId);
  }

  async #start(
    call: StoredCall,
    sending: Sending,
    { onProgress, deleteAfterFetch, ...waiting }: StartOptions,
  ): Promise<TaskHandle> {
    const { background, clock, progress, handle } = this.#services;
    const limit = new WaitLimit(waiting, clock);
    const reports = onProgress && progress.open(onProgress);
    let hasTask = false;
    try {
      const starting = this.#send(call, sending, reports?.token, limit);
      background.run(starting);
      const started = await starting;
      if (started.kind === "result") return directHandle(started.result, clock.now());
      const { taskId, task, immediateResponse } = started;
      reports?.followTask(taskId);
      hasTask = true;
      const known = { task, tool: call.tool };
      return handle(taskId, "created", known, { immediateResponse, deleteAfterFetch });
    } finally {
      limit.clear();
      if (!hasTask) reports?.stop();
    }
  }

  /**
   * Sends a call, which is stored before. Stores the task's id before the caller learns it, and removes a call that
   * has no task. A call without an answer stays stored, since it may have a task.
   */
  async #send(
    entry: StoredCall,
    sending: Sending,
    progressToken: string | undefined,
    limit: WaitLimit,
  ): Promise<Exclude<StartedCall, { kind: "refused" }>> {
    const { journal, background } = this.#services;
    const signal = limit.or(background.closing);
    const isAgain = sending.kind === "again";
    signal.throwIfAborted();
    // A call that was sent before under the same key may have a task, even if it fails now.
    const isNew = !isAgain && (await journal.recordCall(entry));
    if (signal.aborted && isNew) journal.removeCall(entry); // nothing was sent
    signal.throwIfAborted();
    const call = {
      name: entry.tool,
      args: entry.args,
      idempotencyKey: entry.key,
      ttlMs: entry.ttlMs,
      progressToken,
      findsAgain: isAgain || sending.findsAgain,
      onLate: (answer: CallAnswer) => this.#late(entry, answer, sending),
    };
    const earlier = {
      sentAt: isAgain ? entry.startedAt : undefined,
      round: entry.round,
      recordRound: async (round: AnsweredRound) => journal.recordRound(entry, round),
    };
    const services = { ...this.#services, onTrouble: limit.onTrouble };
    const started = await startCall(call, services, signal, earlier).catch(async (error: unknown) => {
      // An invalid answer can still name the task.
      if (!(error instanceof TaskClientError) || error.taskId === undefined) throw error;
      await journal.recordTask(entry, error.taskId);
      throw withReference(error, journal.referenceTo(error.taskId));
    });
    if (started.kind === "task") await journal.recordTask(entry, started.taskId, started.task);
    else if (started.kind === "result" || isNew || isAgain) journal.removeCall(entry);
    if (started.kind === "refused") throw started.error;
    return started;
  }
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
