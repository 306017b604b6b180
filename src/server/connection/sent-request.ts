import type { JsonObject } from "../../generation/message.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

/** What a client answered a request of ours. */
export type Reply =
  | { readonly result: JsonObject }
  | {
      readonly error: JsonRpcError;
      /** The client was asked as a task, and might answer if it is asked without one. */
      readonly ofTask?: true;
    };

/** Marks the reply of a client that was asked as a task. */
export function ofTask(reply: Reply): Reply {
  return "error" in reply ? { ...reply, ofTask: true } : reply;
}

/** A request of ours that the client has not answered yet. */
export interface SentRequest {
  readonly id: string;
  /** Rejects with `Undelivered`. */
  readonly reply: Promise<Reply>;
  /** Ignores the reply. */
  forget(): void;
}

/** What the acceptance of a client's reply depends on. */
export interface ReplyTerms {
  /** It is acknowledged once this resolves: then it is stored, or not needed any more. */
  readonly kept?: Promise<void>;
  /** The scopes needed to reply. */
  readonly requiredScopes?: readonly string[] | undefined;
}
