import type { RequestId } from "@modelcontextprotocol/client";

/** Older ones come twice no more: what doubles a message does so at once, or when a stream is resumed. */
const mostKept = 1_000;

/** Which of a server's requests came already. Within a session an id names one request: again, it is the same message. */
export class Arrivals {
  readonly #ids = new Set<RequestId>();
  #session = -1;

  /** Whether it comes for the first time. */
  isFirst(id: RequestId, session: number): boolean {
    if (session !== this.#session) this.#ids.clear();
    this.#session = session;
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > mostKept && oldest !== undefined) this.#ids.delete(oldest);
    return true;
  }
}
