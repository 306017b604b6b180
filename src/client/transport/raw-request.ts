import type { JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import type { MatchNotification } from "./pending-requests.ts";

export interface RawRequestOptions {
  /** Decides which notifications belong to the request, for requests with a stream of notifications. */
  readonly matchNotification?: MatchNotification;
  /**
   * Keeps the request open when the signal aborts, and gets an answer that comes later. For requests that cannot be
   * cancelled, only the task that they create.
   */
  readonly onLateReply?: (reply: Reply<JsonObject>) => void;
  /** Headers of this request, over HTTP. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each part of the response that arrives, over HTTP. */
  readonly onActivity?: () => void;
  /**
   * Called when the request is sent. The caller then cancels it on the server itself: aborting the signal does not.
   */
  readonly onSent?: (request: SentRequest) => void;
}

/** A request that was sent. */
export interface SentRequest {
  readonly id: string;
  /** The session that it was sent in: its id is unique only there. */
  readonly session: number;
  /** Whether the server can send messages about the request before it answers. */
  readonly streams: boolean;
}
