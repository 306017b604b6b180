import type { RequestId } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, withMeta } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { InputMethod } from "../../task/journal.ts";
import {
  type Connection,
  ofTask,
  type Reply,
  type ReplyTerms,
  type SentRequest,
  Undelivered,
} from "./connection.ts";
import { refusedMeta } from "../../generation/extensions.ts";
import { judgeAnswer } from "../../runtime/questions/questions.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import { clientCancels, takesTasks } from "../../generation/2025-11-25.ts";

/** A question of a tool to the client of a connection. */
export interface Question extends ReplyTerms {
  readonly connection: Connection;
  readonly method: InputMethod;
  readonly params: JsonObject;
  /** For `_meta` of messages about the question: the task that it is of. */
  readonly related?: JsonObject;
  /** The request whose stream can reach the client now; undefined: the standalone stream. */
  readonly via: () => RequestId | undefined;
  /**
   * Whether the client may make a task of it. False for a question of a call without a task, and for one that the client
   * answered with an error when it was asked as a task.
   */
  readonly mayBeTask?: boolean;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called when the client made a task of the question, which then needs no open stream any more. */
  readonly onTaskCreated?: () => void;
}

/** The reply, unless the signal aborts before it: then `withdraw` runs, and the reason is thrown. */
export async function orWithdrawn(
  asked: SentRequest,
  signal: AbortSignal,
  withdraw: () => void,
): Promise<Reply> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => {
    asked.forget();
    withdraw();
    aborted.reject(signal.reason as Error);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort(); // no event follows
  try {
    return await Promise.race([asked.reply, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** How many invalid answers to a question are refused before the question fails. */
export const mostRefusals = 3;

/** How a question is asked: as its author wrote it, or again. */
export interface Attempt {
  /** Whether it is not asked as a task of the client, which answered that with an error. */
  readonly plainly: boolean;
  /** How many answers were invalid. */
  readonly refusals: number;
  /** What was wrong with the last of them. */
  readonly reason?: string;
}

export const firstAttempt: Attempt = { plainly: false, refusals: 0 };

/** What a reply means: the end of its question, or a reason to ask again. */
export type Verdict =
  | { readonly kind: "answer"; readonly value: JsonObject }
  | { readonly kind: "error"; readonly error: JsonRpcError }
  | { readonly kind: "again"; readonly attempt: Attempt };

interface Put {
  readonly method: InputMethod;
  /** As the author wrote them. */
  readonly params: JsonObject;
  readonly attempt: Attempt;
}

export function judgeReply({ method, params, attempt }: Put, reply: Reply): Verdict {
  if ("error" in reply) {
    if (reply.ofTask !== true || attempt.plainly) return { kind: "error", error: reply.error };
    return { kind: "again", attempt: { ...attempt, plainly: true } };
  }
  const judged = judgeAnswer(method, params, reply.result);
  if ("answer" in judged) return { kind: "answer", value: judged.answer };
  const reason = judged.fault;
  // The client is wrong, not its user, whom that task may be asking.
  if (isTask(reply.result)) {
    const message = "The answer is an invalid task: nobody asked for one, or it has no taskId.";
    return { kind: "error", error: { code: -32603, message } };
  }
  const refusals = attempt.refusals + 1;
  if (refusals <= mostRefusals) return { kind: "again", attempt: { ...attempt, refusals, reason } };
  return {
    kind: "error",
    error: { code: -32602, message: `The answer does not fit the question: ${reason}` },
  };
}

/** Whether an answer was meant to be a task, of 2025-11-25 or 2026-07-28. One that can be followed is not judged. */
function isTask(answer: JsonObject): boolean {
  return Object.hasOwn(answer, "task") || answer["resultType"] === "task";
}

/** The params of the question. If it is asked again, its message says why. */
export function paramsFor({ params, attempt }: Put): JsonObject {
  const { reason } = attempt;
  if (reason === undefined) return params;
  const { message } = params;
  const said = `The last answer was not accepted: ${reason}`;
  const asked = typeof message === "string" ? { ...params, message: `${message}\n\n${said}` } : params;
  return withMeta(asked, { [refusedMeta]: reason });
}

/** The poll interval if the client names none, and its bounds, in ms. */
const interval = { usual: 1_000, shortest: 100, longest: 60_000 };

/** After this time, an unanswered poll is sent again, in ms. */
const patienceMs = 10_000;

/**
 * Waits for a task that runs on the client, and resolves with its result: polls in the interval that the client
 * names, and at once when it notifies of a change (C-050, C-067). `cancel` runs when the signal aborts.
 */
export async function followClientTask(
  question: Question,
  taskId: string,
  created: JsonObject,
  cancel: () => void,
): Promise<Reply> {
  const { connection, via, signal, requiredScopes } = question;
  const pause = (ms: number): Promise<void> =>
    changeOrPause(question, taskId, ms).catch((reason: unknown) => {
      cancel();
      throw reason;
    });
  let task = created;
  for (;;) {
    if (task["status"] === "working") await pause(pauseOf(task));
    const method = task["status"] === "working" ? "tasks/get" : "tasks/result";
    // If the task waits for input, its questions come on the stream of `tasks/result` (C-093).
    const terms = method === "tasks/result" ? question : { requiredScopes };
    const asked = connection.ask(method, { taskId }, via(), terms);
    if (task["status"] === "input_required") return ofTask(await orWithdrawn(asked, signal, cancel));
    const reply = await inTime(question, asked, cancel);
    if (reply === undefined) await pause(interval.usual);
    else if (method === "tasks/result" || "error" in reply) {
      // If the user cancelled the task on the client, the question is not asked again.
      return task["status"] === "cancelled" ? reply : ofTask(reply);
    } else task = reply.result;
  }
}

/**
 * The reply, or undefined if none came in time: the stream of the request may have broken, and the next poll uses another
 * one. Rejects once the connection is closed, and with the signal's reason.
 */
export async function inTime(
  { connection, clock, signal }: Question,
  asked: SentRequest,
  cancel: () => void,
): Promise<Reply | undefined> {
  const late = new AbortController();
  const cancelTimer = clock.after(patienceMs, () => late.abort());
  try {
    return await orWithdrawn(asked, AbortSignal.any([signal, late.signal]), () => {
      if (signal.aborted) cancel();
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const lost = error instanceof Undelivered && !connection.closing.aborted;
    if (lost || late.signal.aborted) return undefined;
    throw error;
  } finally {
    cancelTimer();
  }
}

function pauseOf({ pollInterval }: JsonObject): number {
  const ms = typeof pollInterval === "number" ? pollInterval : interval.usual;
  return Math.min(Math.max(ms, interval.shortest), interval.longest);
}

function changeOrPause({ connection, clock, signal }: Question, taskId: string, ms: number): Promise<void> {
  return waitFor((done) => {
    const cancelTimer = clock.after(ms, done);
    const unlisten = connection.onTaskNotification((_method, params) => {
      if (params["taskId"] === taskId) done();
    });
    return () => {
      cancelTimer();
      unlisten();
    };
  }, signal);
}

/**
 * Asks the client and resolves with its reply. If the client declares that it takes such a request as a task, it becomes one
 * there (C-007), and the reply does not need the stream of the question any more. Rejects with `Undelivered`, and with the
 * reason of the signal, which withdraws the question.
 */
export async function askClient(question: Question): Promise<Reply> {
  const { connection, method, params, via, signal, mayBeTask = true, requiredScopes } = question;
  signal.throwIfAborted();
  const { capabilities } = connection;
  const asTask = mayBeTask && method !== "roots/list" && takesTasks(capabilities, method);
  const { task: _unasked, ...own } = params;
  const stream = via();
  // For a task of the client, `tasks/result` has the reply that must be stored, not this request.
  const asked = asTask
    ? connection.ask(method, { ...own, task: {} }, stream, { requiredScopes })
    : connection.ask(method, own, stream, question);
  const reply = await orWithdrawn(asked, signal, () => {
    const withdrawal = { requestId: asked.id, reason: "The question is no longer open." };
    const { related } = question; // the withdrawal names the task that the question is of, too (C-098)
    const message = related === undefined ? withdrawal : withMeta(withdrawal, related);
    connection.notify("notifications/cancelled", message, stream);
  });
  const task = asTask && "result" in reply ? reply.result["task"] : undefined;
  // A client may also answer without a task.
  if (!isJsonObject(task) || typeof task["taskId"] !== "string") return asTask ? ofTask(reply) : reply;
  const { taskId } = task;
  question.onTaskCreated?.();
  return followClientTask(question, taskId, task, () => {
    if (clientCancels(capabilities)) connection.ask("tasks/cancel", { taskId }, via());
  });
}
