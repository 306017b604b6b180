import { Shares, type Holder } from "../shares.ts";
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
      if (response.body !== null && isStream(response)) return withEnd(response, response.body, request, end);
      end();
      return response;
    } catch (error) {
      end();
      throw error;
    }
  }
}

/** `response`, with a word on when nobody reads its stream any more. Adapters may not cancel it before its next chunk. */
function withEnd(
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  { signal }: Request,
  onEnd: () => void,
): Response {
  const reader = body.getReader();
  const end = (): void => {
    signal.removeEventListener("abort", end);
    onEnd();
  };
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            controller.enqueue(value);
            return;
          }
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 }, // a source is asked for more when its client takes more
  );
  return new Response(stream, { status, headers });
}
