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

/** The result of such a write. */
export interface MessageResult {
  readonly put: PutMessageResult;
  /** The bodies of the taken messages. */
  readonly taken: readonly string[];
}
