import type { RequestId } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/message.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { InputMethod } from "../../task/journal.ts";
import type { SentRequest, Reply, ReplyTerms } from "./sent-request.ts";
import type { Connection } from "./connection.ts";

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
