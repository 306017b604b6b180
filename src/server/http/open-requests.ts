import { Shares, type Holder } from "../shares.ts";
import { watchedStream } from "./watched-stream.ts";
import { isStream } from "./sessions/json-answer.ts";
import { tooManyOpen, tooManyStreams } from "./sessions/refusals.ts";
import { requestIds } from "./sessions/requests-in.ts";

/** What one principal may have open. */
export interface OpenRequestsLimits {
  readonly maxRequests: number;
  /** Those of its sessions, and those on which it gets what it missed. */
  readonly maxStreams: number;
}

/**
 * The requests that each principal has open: from when they are understood until their answers have gone out; and the streams
 * that it opened by GET.
 */
export class OpenRequests {
  readonly #limits: OpenRequestsLimits;
  /** Those of a batch are several. */
  readonly #requests = new Shares<object>();
  readonly #streams = new Shares<object>();

  constructor(limits: OpenRequestsLimits) {
    this.#limits = limits;
  }

  /** Answers `request` by `respond`, or refuses it where its sender has too many open. */
  async serve(
    request: Request,
    body: unknown,
    holder: Holder,
    respond: () => Promise<Response>,
  ): Promise<Response> {
    const isGet = request.method === "GET";
    const places = isGet ? [{}] : requestIds(body).map(() => ({}));
    // There is nobody to count for where callers are not told apart, and a notification, such as a cancel, waits for no answer.
    if (holder === null || places.length === 0) return respond();
    const { maxRequests, maxStreams } = this.#limits;
    const open = isGet ? this.#streams : this.#requests;
    if (open.count(holder) + places.length > (isGet ? maxStreams : maxRequests)) {
      return isGet ? tooManyStreams(maxStreams) : tooManyOpen(body, "principal", maxRequests);
    }
    for (const place of places) open.add(holder, place);
    const end = (): void => {
      for (const place of places) open.remove(holder, place);
    };
    try {
      const response = await respond();
      const { body: stream, status, headers } = response;
      if (stream !== null && isStream(response)) {
        return new Response(watchedStream(stream, request.signal, end).readable, { status, headers });
      }
      end();
      return response;
    } catch (error) {
      end();
      throw error;
    }
  }
}
