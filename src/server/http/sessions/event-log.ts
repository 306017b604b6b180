import { createHmac, timingSafeEqual } from "node:crypto";
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/server";
import type { Secret } from "../../../task/secret.ts";
import type { Share } from "../../limits.ts";

/**
 * The ids of events on the streams of sessions. A client hands them back, perhaps to another process, which learns from them what it has to
 * answer. What an id says of requests is sealed:
 *
 * - A client cannot write such a part itself, nor change it, nor use that of another session.
 * - Without a key, ids say nothing of requests, so that only the process that wrote them can resume their streams.
 */

/** What the next process has to know of a request to answer it. */
export interface OpenCall {
  readonly id: RequestId;
  /** The task whose outcome is its answer, if the task does not store the request, because another request made it. */
  readonly task?: string;
  /** The request itself, if it can be repeated. */
  readonly request?: Pick<JSONRPCRequest, "method" | "params">;
}

/** A call as its client sent it; of one that cannot be repeated, nothing but its id is known. */
export function messageOf({ id, request }: OpenCall): JSONRPCRequest {
  return { method: "resumed", ...request, jsonrpc: "2.0", id };
}

/** A message that names the task which a call has joined. */
export function joinedBy({ task }: OpenCall): object {
  return { method: "tasks/result", params: { taskId: task } };
}

/** An event on a stream of a session. */
export interface EventId {
  /** Names the log that numbered the event: a session has another one in each process. */
  readonly log: string;
  /** The number of its stream; 0 is the standalone stream. */
  readonly stream: number;
  /** Its own number, in the log. */
  readonly event: number;
  /** The unanswered requests on the stream, as many as fit. */
  readonly calls: readonly OpenCall[];
}

/** The most that calls take in an id, in characters. Clients send it as a header. */
const mostChars = 2_048;
const mostCalls = 50;

const sealBytes = 16;

/** Writes and reads the ids of one session. */
export class EventIds {
  readonly #session: string;
  readonly #key: Secret | undefined;

  /** `session`: its name in the store. `key`: the same in all processes. */
  constructor(session: string, key: Secret | undefined) {
    this.#session = session;
    this.#key = key;
  }

  /** What an id says of calls: in full, only their ids, or nothing, depending on the space. */
  formatCalls(calls: readonly OpenCall[]): string {
    if (this.#key === undefined || calls.length === 0 || calls.length > mostCalls) return "";
    for (const each of [calls, calls.map(({ id }) => ({ id }))]) {
      const json = Buffer.from(JSON.stringify(each));
      const text = Buffer.concat([this.#seal(json, this.#key.current), json]).toString("base64url");
      if (text.length <= mostChars) return `-${text}`;
    }
    return "";
  }

  /** Undefined for an id that no process of this session wrote. */
  parse(text: string): EventId | undefined {
    const [, log, stream, event, calls] =
      /^(\w{8})-(\d{1,15})-(\d{1,15})(?:-([\w-]{1,2048}))?$/.exec(text) ?? [];
    const parsed = calls === undefined ? [] : this.#open(Buffer.from(calls, "base64url"));
    if (log === undefined || parsed === undefined) return undefined;
    return { log, stream: Number(stream), event: Number(event), calls: parsed };
  }

  #open(sealed: Buffer): OpenCall[] | undefined {
    if (this.#key === undefined || sealed.length <= sealBytes) return undefined;
    const json = sealed.subarray(sealBytes);
    const seal = sealed.subarray(0, sealBytes);
    const isOurs = this.#key.accepted.some((key) => timingSafeEqual(this.#seal(json, key), seal));
    return isOurs ? (JSON.parse(json.toString()) as OpenCall[]) : undefined;
  }

  #seal(json: Uint8Array, key: Uint8Array): Buffer {
    return createHmac("sha256", key)
      .update(`${this.#session}\n`)
      .update(json)
      .digest()
      .subarray(0, sealBytes);
  }
}

/** A log in the memory that all logs usage. */
export interface SharingLog {
  readonly bytes: number;
  /** Forgets its oldest event. */
  dropOldest(): void;
}

interface Usage {
  bytes: number;
  readonly logs: Set<SharingLog>;
}

/** How much more than necessary is freed at a time, so that not every event has to find the largest log. */
const slackPart = 1 / 256;

/** Limits the memory of all event logs. When it is full, the principal that uses most of it loses its oldest events. */
export class EventMemory {
  readonly #maxBytes: number;
  readonly #usage = new Map<Share, Usage>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Frees memory until `length` bytes fit. */
  makeRoom(length: number): void {
    if (this.#bytes + length <= this.#maxBytes) return;
    const most = this.#maxBytes * (1 - slackPart) - length;
    while (this.#bytes > 0 && this.#bytes > most) {
      const log = this.#largestLog();
      if (log === undefined) return;
      const half = log.bytes / 2;
      while (this.#bytes > most && log.bytes > 0 && log.bytes >= half) log.dropOldest();
    }
  }

  /** The log of the principal grew or shrank by this many bytes. */
  changed(share: Share, log: SharingLog, by: number): void {
    const usage = this.#usage.get(share) ?? { bytes: 0, logs: new Set() };
    this.#usage.set(share, usage);
    usage.bytes += by;
    this.#bytes += by;
    if (log.bytes > 0) usage.logs.add(log);
    else usage.logs.delete(log);
    if (usage.logs.size === 0) this.#usage.delete(share);
  }

  #largestLog(): SharingLog | undefined {
    const usage = largest(this.#usage.values());
    return usage === undefined ? undefined : largest(usage.logs);
  }
}

function largest<T extends { readonly bytes: number }>(all: Iterable<T>): T | undefined {
  let most: T | undefined;
  for (const each of all) if (most === undefined || each.bytes > most.bytes) most = each;
  return most;
}

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
