import {
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
import type { Sender } from "./identify.ts";
import { missingForListen } from "../2026-07-28/admission.ts";
import type { TaskServer } from "../task-server.ts";
import { PerPrincipal, shareOf, type Share } from "../limits.ts";
import {
  isStream,
  keepAliveComment,
  keepAliveMs,
  messageEvent,
  sseEvents,
  watchedStream,
} from "./outgoing-stream.ts";
import { type Backlog, type UnreadBytes, UnreadError } from "./unread-bytes.ts";
import { tooManyRequests } from "./refusals.ts";
import type { ErrorOf } from "../faults.ts";
import type { Listening } from "../listen/listening.ts";

/** When a place may be free, in ms. */
const retryAfterMs = 5_000;

/** Whether `request` declares to be a listen request; the SDK refuses invalid ones. */
export function isListen({ method, headers }: Request): boolean {
  return method === "POST" && headers.get("mcp-method") === listenMethod;
}

type Forward = (body: unknown) => Promise<Response>;

/** A stream that can be ended before its time, in order. */
interface Ending {
  readonly end: () => void;
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

  /** `forward` has the SDK answer the same request with another body. */
  async serve(request: Request, owner: Sender, body: unknown, forward: Forward): Promise<Response> {
    const listening = isJsonObject(body) ? taskListening(body["params"]) : undefined;
    if (!isJsonObject(body) || listening === undefined) {
      return this.#watched(await forward(body), request, owner, body);
    }

    const missing = missingForListen(listening, readCapabilities(body["params"]) ?? {});
    // The SDK checks headers, `_meta` and version first; whatever else is asked for then makes no difference.
    const { others } = listening;
    const params = missing === undefined ? others : { ...others, notifications: {} };
    const response = await forward({ ...body, params });
    if (response.body === null || !isStream(response)) return response;
    try {
      if (missing !== undefined) throw missing;
      return await this.#listen({ request, owner, listening, body, response, sdk: response.body });
    } catch (error) {
      await response.body.cancel();
      const answer = this.#server.errorOf(error);
      return failure(idOf(body), answer, missing === undefined ? 200 : 400);
    }
  }

  /** Ends all streams, in order. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#ofTasks) stream.end();
  }

  async #listen({ request, owner, listening: asked, body, response, sdk }: Accepted): Promise<Response> {
    const { signal } = request;
    const share = shareOf(owner);
    const listening = await this.#server.listen(asked, owner);
    if (this.#closed) {
      listening.close();
      throw stopping();
    }
    if (!this.#hasRoom(share)) {
      listening.close();
      await sdk.cancel();
      return full(body);
    }
    const { errorOf } = this.#server;
    const onEnd = (): void => {
      this.#ofTasks.delete(stream);
      this.#streams.remove(share, stream);
    };
    const counted = { unread: this.#unread, holder: share };
    const stream = new TaskStream({ sdk, listening, id: idOf(body), ...counted, signal, errorOf, onEnd });
    this.#ofTasks.add(stream);
    this.#streams.add(share, stream);
    stream.start();
    return new Response(stream.readable, { status: response.status, headers: response.headers });
  }

  /** A stream of the SDK's own, which takes a place too. */
  async #watched(
    response: Response,
    { signal }: Request,
    sender: Sender,
    request: unknown,
  ): Promise<Response> {
    const { body, status, headers } = response;
    if (body === null || !isStream(response) || !isJsonObject(request)) return response;
    const share = shareOf(sender);
    if (!this.#hasRoom(share)) {
      await body.cancel();
      return full(request);
    }
    const ending: Ending = { end: () => watched.end(messageEvent(listenEnd(idOf(request)))) };
    this.#streams.add(share, ending);
    const watched = watchedStream(body, signal, () => this.#streams.remove(share, ending));
    return new Response(watched.readable, { status, headers });
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

interface Accepted {
  readonly request: Request;
  readonly owner: Sender;
  readonly listening: TaskListening;
  readonly body: JsonObject;
  readonly response: Response;
  readonly sdk: ReadableStream<Uint8Array>;
}

/** Of a request that the SDK has accepted. */
function idOf({ id }: JsonObject): SubscriptionId {
  return id as SubscriptionId;
}

function full(body: JsonObject): Response {
  const message = "Too many clients are listening to this server. Poll your tasks, or listen again later.";
  return tooManyRequests(body, { code: jsonRpcCodeOf("limit_reached"), message, data: { retryAfterMs } });
}

function failure(id: SubscriptionId, error: object, status: number): Response {
  return Response.json({ jsonrpc: "2.0", id, error }, { status });
}

export interface TaskStreamSetup {
  /** The SDK's stream for the same request without what it asks of us. */
  readonly sdk: ReadableStream<Uint8Array>;
  readonly listening: Listening;
  readonly id: SubscriptionId;
  readonly unread: UnreadBytes;
  readonly holder: Share;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  readonly errorOf: ErrorOf;
  readonly onEnd: () => void;
}

/**
 * One subscription over HTTP: the SDK's stream with its acknowledgement completed, and what is pushed of tasks among its
 * notifications. Each source writes its next message only after the client took the one before, so a client that
 * does not read holds one message of each.
 */
export class TaskStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #setup: TaskStreamSetup;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #backlog: Backlog;
  /** Bytes that the client has not taken yet. */
  #waiting = 0;
  /** The SDK's answer to the request, which it gives at once if the request only listens to tasks. */
  #last: object | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #over = false;

  constructor(setup: TaskStreamSetup) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.readable = readable;
    this.#setup = setup;
    this.#reader = setup.sdk.getReader();
    this.#writer = writable.getWriter();
    this.#backlog = setup.unread.open(setup.holder, () => this.#abandon());
  }

  start(): void {
    const { signal } = this.#setup;
    this.#writer.closed.catch(() => this.#stop()); // the client does not read any more
    signal.addEventListener("abort", this.#abandon, { once: true });
    if (signal.aborted) this.#abandon();
    this.#relay().catch((error: unknown) => this.#failed(error));
  }

  /** Answers the listen request and closes the stream. */
  end(): void {
    if (this.#over) return;
    this.#stop();
    const gone = (): void => undefined;
    this.#writer.write(messageEvent(this.#last ?? listenEnd(this.#setup.id))).catch(gone);
    this.#writer.close().catch(gone);
  }

  readonly #abandon = (): void => {
    this.#stop();
    this.#writer.abort(new UnreadError()).catch(() => undefined);
  };

  /** Resolves when the client has taken `bytes`. */
  async #write(bytes: Uint8Array): Promise<void> {
    this.#backlog.hold((this.#waiting += bytes.byteLength));
    await this.#writer.write(bytes);
    this.#backlog.hold((this.#waiting -= bytes.byteLength));
  }

  async #relay(): Promise<void> {
    const { listening } = this.#setup;
    let onlyTasks = false;
    for await (const { bytes, message } of sseEvents(this.#reader)) {
      if (!isJsonObject(message)) {
        await this.#write(bytes);
      } else if (message["method"] === acknowledgedMethod) {
        const params = isJsonObject(message["params"]) ? message["params"] : {};
        onlyTasks = asksForNothing(params);
        const acknowledged = { ...message, params: acknowledgedTasks(params, listening.accepted) };
        await this.#write(messageEvent(acknowledged));
        for (const pushes of listening.pushes) {
          this.#push(pushes).catch((error: unknown) => this.#failed(error));
        }
      } else if ("id" in message) {
        this.#last = message;
      } else {
        await this.#write(bytes);
      }
    }
    if (!onlyTasks) this.end();
    else if (!this.#over) this.#keepAlive = setInterval(() => this.#beat(), keepAliveMs).unref();
  }

  async #push(pushes: Listening["pushes"][number]): Promise<void> {
    const { id } = this.#setup;
    while (await pushes.changed()) {
      await this.#writer.ready;
      const message = await pushes.next(id);
      if (message !== undefined) await this.#write(messageEvent(message));
    }
  }

  #beat(): void {
    // A client that does not read needs no more to read.
    if ((this.#writer.desiredSize ?? 0) > 0) this.#writer.write(keepAliveComment).catch(() => undefined);
  }

  /** Tells the client that the stream ended: it listens again and gets the current states. */
  #failed(error: unknown): void {
    if (this.#writer.desiredSize === null) this.#stop(); // the client is gone
    if (this.#over) return;
    this.#setup.errorOf(error); // which reports what is not for the client
    this.end();
  }

  #stop(): void {
    if (this.#over) return;
    this.#over = true;
    const { listening, signal, onEnd } = this.#setup;
    listening.close();
    this.#backlog.end();
    clearInterval(this.#keepAlive);
    signal.removeEventListener("abort", this.#abandon);
    this.#reader.cancel().catch(() => undefined);
    onEnd();
  }
}

function asksForNothing(acknowledgement: JsonObject): boolean {
  const { notifications } = acknowledgement;
  return !isJsonObject(notifications) || Object.keys(notifications).length === 0;
}
