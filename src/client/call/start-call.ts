import { notRepeatableData } from "../../generation/idempotency-key.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { askUser, type UserCallbacks } from "../question/ask-user.ts";
import type { ClientClock } from "../clock.ts";
import { failureOf, rpcCodeOf, type ClientEvents } from "../events/client-events.ts";
import type { ClientEventData } from "../events/client-event.ts";
import type { InputResult } from "../question/input-request.ts";
import { persist } from "../reply/persist.ts";
import type { Reply } from "../reply/reply.ts";
import type { OpenQuestion } from "../task/remote-task.ts";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import { forgotten } from "./forgotten.ts";
import type { AnsweredRound, CallAnswer, TaskProtocol, ToolCall } from "../task-protocol.ts";

export interface StartServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly callbacks: UserCallbacks;
  readonly events: ClientEvents;
  readonly pollFloorMs: number;
  /** When a call that may have arrived was first sent, in epoch ms; undefined for one that was not sent before. */
  readonly firstSentAt: number | undefined;
}

/** What became of the same call before. */
interface Earlier {
  readonly mayHaveArrived: boolean;
  /** What it was sent with last. */
  readonly round: AnsweredRound | undefined;
  /** To be awaited before a round is sent, so that the next process need not ask again. */
  readonly keepRound: (round: AnsweredRound) => Promise<void>;
}

/** A server that goes on asking after this many rounds is not getting anywhere. */
const mostRounds = 100;

export type StartedCall =
  | Exclude<CallAnswer, { kind: "questions" }>
  /** There is no task, and none to come. */
  | { readonly kind: "refused"; readonly error: unknown };

/**
 * Sends a call until the server answered it with a result or a task. In between the server may ask for input, round
 * by round; each round is asked anew, whatever its keys (X-P-018).
 *
 * A call is repeated without harm only if no second task can come of it. So it is sent again after a failure that
 * proves that the server never began on it (no connection, HTTP 429); after any other lost answer only if the server
 * says that it recognises a repeated call by its idempotency key, and for as long as it does; otherwise the caller gets
 * the error. Such a server
 * refuses the repeated call of a tool that makes no task, which it would run twice.
 *
 * Rejects where there may be a task all the same.
 */
export async function startCall(
  call: Omit<ToolCall, "round" | "repeat">,
  services: StartServices,
  signal: AbortSignal,
  earlier: Earlier,
): Promise<StartedCall> {
  const { events } = services;
  const about = { callId: events.nextCallId(), tool: call.name };
  try {
    const started = await untilStarted(call, about, services, signal, earlier);
    if (started.kind === "task") events.tell({ type: "task_created", ...about, taskId: started.taskId });
    if (started.kind === "refused") {
      events.tell({ type: "call_failed", ...about, ...failureOf(started.error) });
    }
    return started;
  } catch (error) {
    events.tell({ type: "call_failed", ...about, ...failureOf(error) });
    throw error;
  }
}

async function untilStarted(
  call: Omit<ToolCall, "round" | "repeat">,
  about: { readonly callId: string; readonly tool: string },
  services: StartServices,
  signal: AbortSignal,
  earlier: Earlier,
): Promise<StartedCall> {
  const { protocol, clock, pollFloorMs, events, callbacks, firstSentAt } = services;
  const recognisedMs = protocol.recognisedMs(call.ttlMs);
  let { mayHaveArrived, round } = earlier;
  // By the even clock from here on, of which another process knew nothing.
  let arrivedAt =
    firstSentAt === undefined ? undefined : clock.elapsed() - Math.max(0, clock.now() - firstSentAt);
  for (let rounds = 0; rounds < mostRounds; rounds++) {
    let repeat = mayHaveArrived;
    let attempt = 0;
    let lostBy: unknown;
    const sent = { ...call, round };
    const send = async (): Promise<Reply<CallAnswer>> => {
      const sentAt = clock.elapsed();
      const message = arrivedAt === undefined ? undefined : forgotten(sentAt - arrivedAt, recognisedMs);
      if (message !== undefined) return { kind: "bad", code: "connection", message, cause: lostBy };
      events.tell({ type: "call_sent", ...about, attempt: ++attempt, repeat });
      const reply = await protocol.call({ ...sent, repeat }, signal);
      if (reply.kind === "lost" && !reply.notReceived) arrivedAt ??= sentAt;
      if (reply.kind === "lost") lostBy = reply.cause;
      return reply;
    };
    const reply = await persist(send, clock, signal, {
      mayRepeat: (lost) => {
        repeat ||= !lost.notReceived;
        return lost.notReceived || protocol.recognisesRepeats;
      },
      onPause: (retryInMs, { error }) =>
        events.tell({ type: "call_delayed", ...about, ...rpcCodeOf(error), retryInMs }),
    });
    if (repeat && reply.kind === "error" && isNotRepeatable(reply.error)) {
      const message = "The answer was lost, and the tool makes no task that could be found again";
      return refused(new TaskClientError("connection", message, { error: reply.error }));
    }
    if (reply.kind === "error" && reply.error.code === -32602 && isFrom(earlier, round)) {
      round = undefined; // the server's state lives for a time only
      continue;
    }
    if (reply.kind !== "value") {
      const error = replyError(reply);
      if (repeat || reply.kind === "lost" || error.code === "protocol") throw error;
      return refused(error);
    }
    events.tell({ type: "call_answered", ...about, ...answerOf(reply.value) });
    if (reply.value.kind !== "questions") return reply.value;
    const { questions, requestState } = reply.value;
    mayHaveArrived = false;
    arrivedAt = undefined;
    // With nothing to ask, the server only wants to be called again.
    if (questions.size === 0) await clock.sleep(pollFloorMs, signal);
    try {
      const inputResponses =
        questions.size === 0 ? undefined : await askAll(questions, about.callId, callbacks, signal);
      round = { inputResponses, requestState };
      if (inputResponses !== undefined) await earlier.keepRound(round);
    } catch (error) {
      if (signal.aborted) throw error;
      return refused(error);
    }
  }
  return refused(
    new TaskClientError("protocol", `The server still asks for input after ${mostRounds} rounds`),
  );
}

function isFrom(earlier: Earlier, round: AnsweredRound | undefined): boolean {
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

/** Asks a round's questions side by side; if one cannot be answered, takes the others back. */
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
      const message = `The server's ${question.method} could not be answered`;
      throw new TaskClientError("unanswered", message, { cause: answer.error });
    });
    return Object.fromEntries(await Promise.all(asked));
  } finally {
    over.abort(new Error("The question is no longer open"));
  }
}
