import type { JsonObject } from "../../generation/json-object.ts";
import type { Reply } from "../reply/reply.ts";
import type { Hear } from "./pending-requests.ts";

export interface RawRequestOptions {
  /** The request is one that is answered by notifications first. */
  readonly hear?: Hear;
  /**
   * The request cannot be taken back, only what it began: it stays out when the signal aborts, and an answer that
   * still comes is given to this.
   */
  readonly late?: (reply: Reply<JsonObject>) => void;
  /** Headers of this request alone, on lines that have some. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each part of the response that arrives, on lines that can tell. */
  readonly onPart?: () => void;
  /** Told of the request as it goes out. Whoever knows it tells the server that it is over: aborting it does not. */
  readonly sent?: (request: SentRequest) => void;
}

/** A request that is out. */
export interface SentRequest {
  readonly id: string;
  /** The session that it was sent in: its id means something there alone. */
  readonly session: number;
  /** Whether the server can say something before it answers, on the request's own stream or on one for all. */
  readonly hears: boolean;
}
