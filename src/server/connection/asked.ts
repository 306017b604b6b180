import type { JsonObject } from "../../generation/json-object.ts";
import type { JsonRpcError } from "../../task/outcome.ts";

/** What a client answered a request of ours. */
export type Reply =
  | { readonly result: JsonObject }
  | {
      readonly error: JsonRpcError;
      /** The client was asked for a task, and might answer where it is asked plainly. */
      readonly ofTask?: true;
    };

/** The reply of a client that was asked for a task. */
export function ofTask(reply: Reply): Reply {
  return "error" in reply ? { ...reply, ofTask: true } : reply;
}

/** A request of ours that the client has not answered yet. */
export interface Asked {
  readonly id: string;
  /** Rejects with `Undelivered`. */
  readonly reply: Promise<Reply>;
  /** Nobody waits for the reply any more, and a client that was told so sends none. */
  forget(): void;
}

/** How a client's reply is taken. */
export interface ReplyTerms {
  /** It is acknowledged once this resolves: it is kept, or not wanted any more. */
  readonly kept?: Promise<void>;
  /** The scopes that whoever replies needs. */
  readonly requiredScopes?: readonly string[] | undefined;
}
