import {
  listenEnd,
  listenMethod,
  taskListening,
  type SubscriptionId,
  type TaskListening,
} from "../../generation/2026-07-28-listen.ts";
import { readCapabilities } from "../../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Owner } from "../request.ts";
import { missingForListen } from "../2026-07-28/admission.ts";
import type { TaskServer } from "../task-server.ts";
import { PerPrincipal } from "../per-principal.ts";
import type { UnreadBytes } from "./unread-bytes.ts";
import { isStream, messageEvent } from "./sse.ts";
import { TaskStream } from "./task-stream.ts";
import { watchedStream } from "./watched-stream.ts";

/** Of all principals together. */
const mostStreams = 1_024;

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

  constructor(server: TaskServer, unread: UnreadBytes, max = mostStreams) {
    this.#server = server;
    this.#unread = unread;
    this.#max = max;
  }

  /** `forward` has the SDK answer the same request with another body. */
  async serve(request: Request, owner: Owner, body: unknown, forward: Forward): Promise<Response> {
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
    const { principal } = owner;
    const listening = await this.#server.listen(asked, owner);
    if (this.#closed) {
      listening.close();
      throw new HoldfastError("stopping", "The server is stopping.");
    }
    if (!this.#hasRoom(principal)) {
      listening.close();
      await sdk.cancel();
      return full(body);
    }
    const { errorOf } = this.#server;
    const onEnd = (): void => {
      this.#ofTasks.delete(stream);
      this.#streams.remove(principal, stream);
    };
    const counted = { unread: this.#unread, holder: principal };
    const stream = new TaskStream({ sdk, listening, id: idOf(body), ...counted, signal, errorOf, onEnd });
    this.#ofTasks.add(stream);
    this.#streams.add(principal, stream);
    stream.start();
    return new Response(stream.readable, { status: response.status, headers: response.headers });
  }

  /** A stream of the SDK's own, which takes a place too. */
  async #watched(
    response: Response,
    { signal }: Request,
    { principal }: Owner,
    request: unknown,
  ): Promise<Response> {
    const { body, status, headers } = response;
    if (body === null || !isStream(response) || !isJsonObject(request)) return response;
    if (!this.#hasRoom(principal)) {
      await body.cancel();
      return full(request);
    }
    const ending: Ending = { end: () => watched.end(messageEvent(listenEnd(idOf(request)))) };
    this.#streams.add(principal, ending);
    const watched = watchedStream(body, signal, () => this.#streams.remove(principal, ending));
    return new Response(watched.readable, { status, headers });
  }

  /**
   * Whether there is a place, if necessary that of another. A client that loses its place is notified that the stream ended, and may listen
   * again.
   */
  #hasRoom(principal: string | null): boolean {
    if (this.#streams.size < this.#max) return true;
    const { largest } = this.#streams;
    if (largest.size <= this.#streams.count(principal) + 1) return false;
    const [oldest] = largest;
    oldest?.end();
    return true;
  }
}

interface Accepted {
  readonly request: Request;
  readonly owner: Owner;
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
  return failure(idOf(body), { code: -32603, message: "Subscription limit reached" }, 200);
}

function failure(id: SubscriptionId, error: object, status: number): Response {
  return Response.json({ jsonrpc: "2.0", id, error }, { status });
}
