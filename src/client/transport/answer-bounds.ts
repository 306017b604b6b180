import { numberKind } from "../../options/kind.ts";
import { TaskClientError } from "../task-client-error.ts";
import { EventSize } from "./server-sent-events.ts";

/** What a server may send in all before the handshake has ended. */
const handshakeBytes = 4 * 2 ** 20;

interface Reading {
  /** Read event by event: the bound is that of one event. Otherwise it is that of the body, as everything else is read whole. */
  readonly byEvent: boolean;
  /** Called for each part of the body that arrives. */
  readonly onActivity?: (() => void) | undefined;
  /** Called when the bound is exceeded, before the body fails with the error. */
  readonly onExceeded?: ((error: TaskClientError) => void) | undefined;
}

/**
 * How much one connection takes from its server. Invariants: whatever reads the server's words reads a body that is counted here first,
 * after decompression; what goes beyond a bound is cut off and not kept; and its request, or else the connection, ends with an error of
 * code `protocol` that names the bound.
 */
export class AnswerBounds {
  readonly maxAnswerBytes: number;
  /** Why the connection had to end. */
  failure: TaskClientError | undefined;
  /** Undefined once the handshake has ended. */
  #arrivedBefore: number | undefined = 0;

  constructor(maxAnswerBytes: number) {
    this.maxAnswerBytes = maxAnswerBytes;
  }

  handshakeEnded(): void {
    this.#arrivedBefore = undefined;
  }

  /** Throws if this is more than may arrive before the handshake has ended. */
  arrived(bytes: number): void {
    if (this.#arrivedBefore === undefined) return;
    this.#arrivedBefore += bytes;
    if (this.#arrivedBefore > handshakeBytes)
      throw this.#tooMuch("before the handshake had ended", handshakeBytes);
  }

  tooLong(): TaskClientError {
    return this.#tooMuch("in one message (maxAnswerBytes)", this.maxAnswerBytes);
  }

  /** The response with a body that fails beyond the bound. */
  bounded(response: Response, { byEvent, onActivity, onExceeded }: Reading): Response {
    const { body, status, statusText, headers, url } = response;
    onActivity?.();
    if (body === null) return response;
    const event = byEvent ? new EventSize() : undefined;
    let size = 0;
    const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, controller) => {
        onActivity?.();
        size = event?.after(chunk) ?? size + chunk.length;
        try {
          this.arrived(chunk.length);
          if (size > this.maxAnswerBytes) throw this.tooLong();
        } catch (error) {
          if (error instanceof TaskClientError) onExceeded?.(error);
          throw error;
        }
        controller.enqueue(chunk);
      },
    });
    const copy = new Response(body.pipeThrough(counted), { status, statusText, headers });
    // The SDK names a redirect's target by it, and a copy has none.
    return Object.defineProperty(copy, "url", { value: url });
  }

  #tooMuch(where: string, bytes: number): TaskClientError {
    const most = numberKind("size", {}).wordsOf(bytes);
    return new TaskClientError("protocol", `The server sent more than ${most} ${where}`);
  }
}
