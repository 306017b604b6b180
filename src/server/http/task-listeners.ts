import {
  listenBegin,
  listenEnd,
  listenMethod,
  taskListening,
  type SubscriptionId,
  type TaskListening,
  acknowledgedMethod,
  acknowledgedTasks,
} from "../../generation/2026-07-28-listen.ts";
import { readCapabilities } from "../../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { jsonRpcCodeOf } from "../../task/fault.ts";
import { stopping } from "../../task/unanswered.ts";
import { type HttpRequest, streamSignal } from "./http-request.ts";
import type { Sender } from "./identify.ts";
import { type ExactMessage, missingForListen } from "../2026-07-28/admission.ts";
import type { TaskServer } from "../task-server.ts";
import { PerPrincipal, shareOf, type Share } from "../limits.ts";
import { eventStream, isStream, messageEvent, OutgoingStream, sseEvents } from "./outgoing-stream.ts";
import type { Backlog, UnreadBytes } from "./unread-bytes.ts";
import type { Outgoing } from "./exchange.ts";
import { tooManyRequests } from "./refusals.ts";
import type { ErrorOf } from "../faults.ts";
import type { Listening } from "../listen/listening.ts";

/** When a place may be free, in ms. */
const retryAfterMs = 5_000;

/** Whether `request` declares to be a listen request; the SDK refuses invalid ones. */
export function isListen({ method, headers }: HttpRequest): boolean {
  return method === "POST" && headers.get("mcp-method") === listenMethod;
}

type Forward = (body: unknown) => Promise<Response>;

/** A stream that can be ended before its time, in order. */
interface Ending {
  readonly end: () => void;
}

/** A listen request for tasks, from its sender. */
interface Asked {
  readonly sender: Sender;
  readonly listening: TaskListening;
  readonly id: SubscriptionId;
  /** Aborts when the client is gone; left out if its stream is read by who knows that. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The listen requests of one handler. Changes of tasks are answered here, everything else by the SDK. If there are too many, the principal
 * with most of them loses its oldest to another.
 */
export class TaskListeners {
  readonly #server: TaskServer;
  readonly #unread: UnreadBytes;
  readonly #max: number;
  readonly #streams = new PerPrincipal<Ending>();
  /** Those that tell of tasks; the SDK ends its own. */
  readonly #ofTasks = new Set<TaskStream>();
  #closed = false;

  constructor(server: TaskServer, unread: UnreadBytes, max: number) {
    this.#server = server;
    this.#unread = unread;
    this.#max = max;
  }

  /** Answers a request in which the SDK would find nothing wrong, and that asks for nothing but tasks. `meta` is that of its end. */
  async serveTasks(
    { id, params }: ExactMessage,
    sender: Sender,
    signal: AbortSignal | undefined,
    meta: JsonObject,
  ): Promise<Outgoing> {
    const listening = taskListening(params);
    if (listening === undefined) throw new Error("The request does not listen to tasks.");
    const missing = missingForListen(listening, readCapabilities(params) ?? {});
    try {
      if (missing !== undefined) throw missing;
      const stream = await this.#listen({ sender, listening, id, signal });
      if (stream === undefined) return full(id);
      stream.acknowledge(listenBegin(id));
      stream.last = listenEnd(id, meta);
      return eventStream(stream.out);
    } catch (error) {
      return failure(id, this.#server.errorOf(error), missing === undefined ? 200 : 400);
    }
  }

  /** `forward` has the SDK answer the same request with another body. */
  async serve(request: HttpRequest, sender: Sender, body: unknown, forward: Forward): Promise<Outgoing> {
    const signal = streamSignal(request);
    const listening = isJsonObject(body) ? taskListening(body["params"]) : undefined;
    if (!isJsonObject(body) || listening === undefined) {
      return this.#counted(await forward(body), signal, sender, body);
    }

    const missing = missingForListen(listening, readCapabilities(body["params"]) ?? {});
    // The SDK checks headers, `_meta` and version first; whatever else is asked for then makes no difference.
    const { others } = listening;
    const params = missing === undefined ? others : { ...others, notifications: {} };
    const response = await forward({ ...body, params });
    if (response.body === null || !isStream(response)) return response;
    const id = idOf(body);
    try {
      if (missing !== undefined) throw missing;
      const stream = await this.#listen({ sender, listening, id, signal });
      if (stream !== undefined) {
        stream.relay(response.body);
        return eventStream(stream.out);
      }
      await response.body.cancel();
      return full(id);
    } catch (error) {
      await response.body.cancel();
      return failure(id, this.#server.errorOf(error), missing === undefined ? 200 : 400);
    }
  }

  /** Ends all streams, in order. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#ofTasks) stream.end();
  }

  /** Undefined if there is no room. */
  async #listen({ sender, listening: asked, id, signal }: Asked): Promise<TaskStream | undefined> {
    const share = shareOf(sender);
    const listening = await this.#server.listen(asked, sender);
    if (this.#closed || !this.#hasRoom(share)) {
      listening.close();
      if (this.#closed) throw stopping();
      return undefined;
    }
    const out = new OutgoingStream({ count: this.#countFor(share), signal, keepAlive: true });
    const stream = new TaskStream(out, listening, id, this.#server.errorOf);
    this.#ofTasks.add(stream);
    this.#streams.add(share, stream);
    out.whenEnded(() => {
      this.#ofTasks.delete(stream);
      this.#streams.remove(share, stream);
    });
    return stream;
  }

  /** A stream of the SDK's own, which takes a place too. */
  async #counted(
    response: Response,
    signal: AbortSignal | undefined,
    sender: Sender,
    request: unknown,
  ): Promise<Outgoing> {
    const { body } = response;
    if (body === null || !isStream(response) || !isJsonObject(request)) return response;
    const id = idOf(request);
    const share = shareOf(sender);
    if (!this.#hasRoom(share)) {
      await body.cancel();
      return full(id);
    }
    const stream = new OutgoingStream({ count: this.#countFor(share), signal });
    stream.relay(body);
    const ending: Ending = {
      end() {
        stream.write(messageEvent(listenEnd(id)));
        stream.complete();
      },
    };
    this.#streams.add(share, ending);
    stream.whenEnded(() => this.#streams.remove(share, ending));
    return eventStream(stream);
  }

  #countFor(share: Share): (cut: () => void) => Backlog {
    return (cut) => this.#unread.open(share, cut);
  }

  /**
   * Whether there is a place, if necessary that of another. A client that loses its place is notified that the stream ended, and may listen
   * again.
   */
  #hasRoom(share: Share): boolean {
    if (this.#streams.size < this.#max) return true;
    const { largest } = this.#streams;
    if (largest.size <= this.#streams.count(share) + 1) return false;
    const [oldest] = largest;
    oldest?.end();
    return true;
  }
}

/** Of a request that the SDK has accepted. */
function idOf({ id }: JsonObject): SubscriptionId {
  return id as SubscriptionId;
}

function full(id: SubscriptionId): Response {
  const message = "Too many clients are listening to this server. Poll your tasks, or listen again later.";
  const error = { code: jsonRpcCodeOf("limit_reached"), message, data: { retryAfterMs } };
  return tooManyRequests({ id }, error);
}

function failure(id: SubscriptionId, error: object, status: number): Response {
  return Response.json({ jsonrpc: "2.0", id, error }, { status });
}

/**
 * One subscription over HTTP: what is pushed of tasks, after an acknowledgement, and among what the SDK sends for the rest of the request.
 * Each source writes its next message only after the client took those before, so a client that does not read holds one message of each.
 */
export class TaskStream {
  readonly out: OutgoingStream;
  readonly #listening: Listening;
  readonly #id: SubscriptionId;
  readonly #errorOf: ErrorOf;
  /** The SDK's answer to the request, which it gives at once if the request only listens to tasks. */
  last: object | undefined;

  constructor(out: OutgoingStream, listening: Listening, id: SubscriptionId, errorOf: ErrorOf) {
    this.out = out;
    this.#listening = listening;
    this.#id = id;
    this.#errorOf = errorOf;
    out.whenEnded(() => listening.close());
  }

  /** Answers the listen request and closes the stream. */
  end(): void {
    this.out.write(messageEvent(this.last ?? listenEnd(this.#id)));
    this.out.complete();
  }

  /** Sends the SDK's acknowledgement completed, and from then on what is pushed. */
  acknowledge(message: JsonObject): void {
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const { accepted } = this.#listening;
    this.out.write(messageEvent({ ...message, params: acknowledgedTasks(params, accepted) }));
    const pushed = this.#listening.push(this.#id, async (next) => {
      await this.out.drained();
      const made = await next();
      if (made !== undefined) this.out.write(messageEvent(made));
    });
    pushed.catch((error: unknown) => this.#failed(error));
  }

  /** Sends what the SDK sends for the same request without what it asks of us, which ends the stream. */
  relay(sdk: ReadableStream<Uint8Array>): void {
    const reader = sdk.getReader();
    this.out.whenEnded(() => void reader.cancel().catch(() => undefined));
    this.#relay(reader).catch((error: unknown) => this.#failed(error));
  }

  async #relay(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    let onlyTasks = false;
    for await (const { bytes, message } of sseEvents(reader)) {
      if (isJsonObject(message) && message["method"] === acknowledgedMethod) {
        onlyTasks = asksForNothing(message["params"]);
        this.acknowledge(message);
      } else if (isJsonObject(message) && "id" in message) this.last = message;
      else this.out.write(bytes);
      await this.out.drained();
    }
    if (!onlyTasks) this.end();
  }

  /** Tells the client that the stream ended: it listens again and gets the current states. */
  #failed(error: unknown): void {
    if (!this.out.isOpen) return;
    this.#errorOf(error); // which reports what is not for the client
    this.end();
  }
}

function asksForNothing(acknowledged: unknown): boolean {
  const notifications = isJsonObject(acknowledged) ? acknowledged["notifications"] : undefined;
  return !isJsonObject(notifications) || Object.keys(notifications).length === 0;
}
