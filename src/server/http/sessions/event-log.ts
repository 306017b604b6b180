import type { Share } from "../../per-principal.ts";
import type { EventIds } from "./event-id.ts";
import type { EventMemory, SharingLog } from "./event-memory.ts";

/** How much is stored to resume streams. */
export interface EventLimits {
  /** Of one session. */
  readonly maxEvents: number;
  /** Of one session, in characters of JSON; a larger message is not stored. */
  readonly maxBytes: number;
}

/** A message on a stream, as JSON text. */
export interface LoggedEvent {
  /** Its number in the session. */
  readonly number: number;
  readonly stream: number;
  readonly json: string;
}

/**
 * The last messages of one session, so that a client whose stream broke gets what it missed. When the log is full, the oldest are dropped,
 * and a client that resumes too late misses them without notice.
 */
export class EventLog implements SharingLog {
  /** For the ids of its events. */
  readonly name: string;
  readonly ids: EventIds;
  readonly #limits: EventLimits;
  readonly #memory: EventMemory;
  readonly #share: Share;
  /** Oldest first, by number. */
  readonly #events = new Map<number, LoggedEvent>();
  #bytes = 0;
  #last = 0;
  #over = false;

  /** `name`: eight letters or digits, another one for each log. */
  constructor(name: string, ids: EventIds, limits: EventLimits, memory: EventMemory, share: Share) {
    this.name = name;
    this.ids = ids;
    this.#limits = limits;
    this.#memory = memory;
    this.#share = share;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the newest event. */
  get last(): number {
    return this.#last;
  }

  /** The number of a new event, which is stored if it fits. */
  add(stream: number, json: string): number {
    const number = this.next();
    const { length } = json;
    const { maxEvents, maxBytes } = this.#limits;
    if (this.#over || length > maxBytes) return number;
    while (this.#events.size >= maxEvents || this.#bytes + length > maxBytes) this.dropOldest();
    this.#memory.makeRoom(length);
    this.#events.set(number, { number, stream, json });
    this.#resize(length);
    return number;
  }

  /** The number of a new event without a message. */
  next(): number {
    return ++this.#last;
  }

  /** What was sent on a stream after the event of that number. */
  after(number: number, stream: number): readonly LoggedEvent[] {
    return [...this.#events.values()].filter((event) => event.number > number && event.stream === stream);
  }

  dropOldest(): void {
    for (const [oldest, { json }] of this.#events) {
      this.#events.delete(oldest);
      this.#resize(-json.length);
      return;
    }
  }

  /** Drops everything, and stores nothing from now on. */
  clear(): void {
    this.#over = true;
    this.#resize(-this.#bytes);
    this.#events.clear();
  }

  #resize(by: number): void {
    this.#bytes += by;
    this.#memory.changed(this.#share, this, by);
  }
}
