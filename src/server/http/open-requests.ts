import { Shares, type Holder } from "../shares.ts";
import { watchedStream } from "./watched-stream.ts";
import { isStream } from "./sessions/json-answer.ts";
import { tooManyOpen } from "./sessions/refusals.ts";
import { requestIds } from "./sessions/requests-in.ts";

/** The requests that each principal has open: from when they are understood until their answers have gone out. */
export class OpenRequests {
  readonly #max: number;
  readonly #open = new Shares<Request>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Answers `request` by `respond`, or refuses it where its sender has too many open. */
  async serve(
    request: Request,
    body: unknown,
    holder: Holder,
    respond: () => Promise<Response>,
  ): Promise<Response> {
    // There is nobody to count for where callers are not told apart, and a notification, such as a cancel, waits for no answer.
    if (holder === null || requestIds(body).length === 0) return respond();
    if (this.#open.count(holder) >= this.#max) return tooManyOpen(body, "principal", this.#max);
    this.#open.add(holder, request);
    const end = (): void => this.#open.remove(holder, request);
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
