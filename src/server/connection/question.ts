import type { RequestId } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/json-object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { InputMethod } from "../../task/input.ts";
import type { Asked, Reply, ReplyTerms } from "./asked.ts";
import type { Connection } from "./connection.ts";

/** A question of a tool to the client of a connection. */
export interface Question extends ReplyTerms {
  readonly connection: Connection;
  readonly method: InputMethod;
  readonly params: JsonObject;
  /** What `_meta` of messages about the question says of the task that it is of. */
  readonly related?: JsonObject;
  /** The request on whose stream the client is reached now; undefined for the standalone stream. */
  readonly via: () => RequestId | undefined;
  /**
   * False for a question of a call that is no task, which is asked on that call, and for one that the client answered with an
   * error as a task: neither becomes a task itself.
   */
  readonly mayBeTask?: boolean;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Called when the client has taken the question as a task of its own: from then on no stream has to stay open for it. */
  readonly onTaken?: () => void;
}

/** The reply, unless the signal aborts before it: then `withdraw` runs, and the reason is thrown. */
export async function orWithdrawn(asked: Asked, signal: AbortSignal, withdraw: () => void): Promise<Reply> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => {
    asked.forget();
    withdraw();
    aborted.reject(signal.reason as Error);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort(); // no event comes any more
  try {
    return await Promise.race([asked.reply, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
