import type { RequestId } from "@modelcontextprotocol/client";

/** A map with a maximum size: a new entry evicts the oldest. */
export class BoundedMap<Value> {
  readonly #most: number;
  readonly #entries = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

/** Duplicates come at once or when a stream is resumed, so older ids can be forgotten. */
const maxIds = 1_000;

/** Recognises requests of the server that come twice: within a session, the same id is the same request. */
export class RequestDeduplicator {
  readonly #ids = new Set<RequestId>();
  #session = -1;

  /** Whether the request comes for the first time. */
  isFirst(id: RequestId, session: number): boolean {
    if (session !== this.#session) this.#ids.clear();
    this.#session = session;
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > maxIds && oldest !== undefined) this.#ids.delete(oldest);
    return true;
  }
}
