import { AsyncLocalStorage } from "node:async_hooks";
import type { EventStore, JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import type { Principal } from "../../per-principal.ts";
import type { EventMemory, SharingLog } from "./event-memory.ts";

/** How much is stored to resume streams. */
export interface EventLimits {
  /** Of one session. */
  readonly maxEvents: number;
  /** Of one session, in characters of JSON; a larger message is not stored. */
  readonly maxBytes: number;
}

interface Kept {
  readonly stream: string;
  readonly text: string;
}

/** The requests that are being sent or received: the SDK names streams, but does not say of which requests they are. */
const about = new AsyncLocalStorage<readonly RequestId[]>();

/** The SDK's name of the standalone stream. */
const standalone = "_GET_stream";

/**
 * The last messages of one session, so that a client whose stream broke gets what it missed. When the log is full, the
 * oldest are dropped: a client that resumes too late misses them without notice.
 */
export class EventLog implements EventStore, SharingLog {
  readonly #limits: EventLimits;
  readonly #memory: EventMemory;
  readonly #principal: Principal;
  /** Oldest first, by the number that is in the event's id. */
  readonly #kept = new Map<number, Kept>();
  /** Streams of requests that are not answered yet, with those requests that are known. */
  readonly #unanswered = new Map<string, Set<RequestId>>();
  readonly #withheld = new Set<RequestId>();
  #bytes = 0;
  #last = 0;
  #over = false;

  constructor(limits: EventLimits, memory: EventMemory, principal: Principal) {
    this.#limits = limits;
    this.#memory = memory;
    this.#principal = principal;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves with an id that names the stream too, and is unique in the session. */
  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const number = ++this.#last;
    if ("method" in message) {
      this.#opened(stream);
      this.#keep(number, { stream, text: JSON.stringify(message) });
    } else if ("id" in message && message.id !== undefined) {
      this.#unanswered.delete(stream);
      if (!this.#withheld.delete(message.id)) this.#keep(number, { stream, text: JSON.stringify(message) });
    } else {
      this.#opened(stream); // no message: it only opens the stream
    }
    return `${number}@${stream}`;
  }

  /** Runs `work`; streams whose first event comes during it are those of `requests`. */
  about<T>(requests: readonly RequestId[], work: () => T): T {
    return about.run(requests, work);
  }

  /** The requests that will be answered on the stream of the event. */
  requestsOf(eventId: string): readonly RequestId[] {
    const { stream = "" } = parse(eventId);
    return [...(this.#unanswered.get(stream) ?? [])];
  }

  /** Does not store the answer to `request`, which cannot be resumed. */
  withhold(request: RequestId): void {
    this.#withheld.add(request);
  }

  /** Whether the answer to `request` is withheld and not sent yet. */
  withholds(request: RequestId): boolean {
    return this.#withheld.has(request);
  }

  /** There will be no answer to `request`. */
  forget(request: RequestId): void {
    this.#withheld.delete(request);
  }

  /** Whether anything can follow the event on its stream. */
  canResume(eventId: string): boolean {
    const { number, stream } = parse(eventId);
    if (stream === undefined || number > this.#last) return false;
    if (stream === standalone || this.#unanswered.has(stream)) return true;
    return [...this.#kept].some(([later, kept]) => later > number && kept.stream === stream);
  }

  isStandalone(eventId: string): boolean {
    return parse(eventId).stream === standalone;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.canResume(eventId) ? parse(eventId).stream : undefined;
  }

  async replayEventsAfter(
    eventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { number, stream = standalone } = parse(eventId);
    const missed = [...this.#kept].filter(([later, kept]) => later > number && kept.stream === stream);
    for (const [later, { text }] of missed) {
      await send(`${later}@${stream}`, JSON.parse(text) as JSONRPCMessage);
    }
    return stream;
  }

  /** Drops everything, and stores nothing from now on. */
  clear(): void {
    this.#over = true;
    this.#resize(-this.#bytes);
    this.#kept.clear();
    this.#unanswered.clear();
    this.#withheld.clear();
  }

  #opened(stream: string): void {
    const requests = this.#unanswered.get(stream) ?? new Set();
    this.#unanswered.set(stream, requests);
    if (stream === standalone) return;
    for (const request of about.getStore() ?? []) requests.add(request);
  }

  dropOldest(): void {
    for (const [oldest, { text }] of this.#kept) {
      this.#kept.delete(oldest);
      this.#resize(-text.length);
      return;
    }
  }

  #keep(number: number, kept: Kept): void {
    const { length } = kept.text;
    const { maxEvents, maxBytes } = this.#limits;
    if (this.#over || length > maxBytes) return;
    while (this.#kept.size >= maxEvents || this.#bytes + length > maxBytes) this.dropOldest();
    this.#memory.makeRoom(length);
    this.#kept.set(number, kept);
    this.#resize(length);
  }

  #resize(by: number): void {
    this.#bytes += by;
    this.#memory.changed(this.#principal, this, by);
  }
}

function parse(eventId: string): { number: number; stream: string | undefined } {
  const [, digits = "0", stream] = /^(\d{1,15})@(.+)$/.exec(eventId) ?? [];
  return { number: Number(digits), stream };
}
