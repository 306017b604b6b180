import type { NewMessage, PutMessageResult } from "./message-queues.ts";

/** The writes of `MessageQueues`, as plain data. */
export type MessageCommand =
  | {
      readonly type: "put_message";
      readonly taskId: string;
      readonly message: NewMessage;
      readonly maxMessages: number | null;
    }
  | { readonly type: "take_messages"; readonly taskId: string; readonly limit: number | null };

/** What one of them did. */
export interface MessageResult {
  readonly put: PutMessageResult;
  /** The bodies of the messages that it took. */
  readonly taken: readonly string[];
}
