import type { RequestId } from "@modelcontextprotocol/server";
import { type JsonObject, withMeta } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import { whenAborted } from "../../runtime/wait-for.ts";
import type { InputMethod } from "../../task/journal.ts";
import type { Connection, Reply, ReplyTerms, SentRequest } from "./connection.ts";
import { refusedMeta } from "../../generation/extensions.ts";
import { judgeAnswer } from "../../runtime/questions/questions.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

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

/** The reply to a question sent on `stream`. When it is no longer open, the client hears of that, and the signal's reason is thrown. */
export function replyTo(
  { connection, signal, related }: Question,
  asked: SentRequest,
  stream: RequestId | undefined,
): Promise<Reply> {
  return orWithdrawn(asked, signal, () => {
    const withdrawal = { requestId: asked.id, reason: "The question is no longer open." };
    const message = related === undefined ? withdrawal : withMeta(withdrawal, related); // it names the task, too (C-098)
    connection.notify("notifications/cancelled", message, stream);
  });
}

/** The reply, unless the signal aborts before it: then `withdraw` runs, and the reason is thrown. */
export async function orWithdrawn(
  asked: SentRequest,
  signal: AbortSignal,
  withdraw: () => void,
): Promise<Reply> {
  const aborted = Promise.withResolvers<never>();
  const stop = whenAborted(signal, () => {
    asked.forget();
    withdraw();
    aborted.reject(signal.reason as Error);
  });
  try {
    return await Promise.race([asked.reply, aborted.promise]);
  } finally {
    stop();
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
