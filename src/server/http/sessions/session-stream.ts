import type { RequestId } from "@modelcontextprotocol/server";
import type { OutgoingStream } from "../outgoing-stream.ts";
import { messageEvent, primingEvent } from "../sse.ts";
import type { OpenCall } from "./event-id.ts";
import type { EventLog } from "./event-log.ts";

/** The number of the stream that belongs to no request. */
export const standaloneNumber = 0;

/**
 * How long clients wait before they resume a stream, in ms. Those of the SDKs try twice, so a server that is started anew has
 * twice this time.
 */
const retryMs = 3_000;

/** The stream of a message or batch with requests, or the standalone stream. It outlives the connections that carry it. */
export class SessionStream {
  readonly number: number;
  /** Those that it was opened for; none on the standalone stream. */
  readonly requests: readonly RequestId[];
  /** Those that are not answered yet. */
  readonly #calls: Map<RequestId, OpenCall>;
  /** The details in the ids of its events. */
  #suffix: string | undefined;
  /** Undefined if streams cannot be resumed. */
  readonly #log: EventLog | undefined;
  #connection: OutgoingStream | undefined;
  /** Whether its client takes events without a message. */
  #isPrimed = false;

  constructor(number: number, calls: readonly OpenCall[], log: EventLog | undefined) {
    this.number = number;
    this.#calls = new Map(calls.map((call) => [call.id, call]));
    this.requests = [...this.#calls.keys()];
    this.#log = log;
  }

  /** Whether a client reads it now. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  connect(connection: OutgoingStream): void {
    this.#connection = connection;
  }

  /** Ends its connection; the client may resume the stream. */
  disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.complete();
  }

  /** The request is answered by this task, which another request has made. */
  joined(request: RequestId, task: string): void {
    this.#calls.set(request, { id: request, task });
    this.#suffix = undefined;
    if (this.#isPrimed) this.prime();
  }

  /** The answer to the request comes next, or there will be none. */
  closed(request: RequestId): void {
    this.#calls.delete(request);
    this.#suffix = undefined;
  }

  /** `json` is a whole message. */
  write(json: string): void {
    const event = this.#log?.add(this.number, json);
    this.#connection?.write(messageEvent(json, event === undefined ? undefined : this.#idOf(event)));
  }

  /** Tells the client from where it can resume the stream: after the event with that number, by default a new one. */
  prime(after?: number): void {
    this.#isPrimed = true;
    const event = after ?? this.#log?.next();
    if (event !== undefined) this.#connection?.write(primingEvent(this.#idOf(event), retryMs));
  }

  /** Sends what was written after the event of that number. */
  replay(after: number): void {
    for (const { number, json } of this.#log?.after(after, this.number) ?? []) {
      this.#connection?.write(messageEvent(json, this.#idOf(number)));
    }
  }

  #idOf(event: number): string {
    this.#suffix ??= this.#log?.ids.formatCalls([...this.#calls.values()]);
    return `${this.#log?.name}-${this.number}-${event}${this.#suffix ?? ""}`;
  }
}
