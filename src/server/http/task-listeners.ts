import {
  listenMethod,
  taskListening,
  type SubscriptionId,
  type TaskListening,
} from "../../generation/2026-07-28/listen.ts";
import { readCapabilities } from "../../generation/2026-07-28/negotiate.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Owner } from "../access.ts";
import { missingForListen } from "../2026-07-28/admission.ts";
import type { TaskServer } from "../task-server.ts";
import { TaskStream } from "./task-stream.ts";

/** As many as the SDK allows for subscriptions of its own. */
const maxStreams = 1_024;

/** Whether `request` says that it is a listen request; the SDK refuses those that say so wrongly. */
export function isListen({ method, headers }: Request): boolean {
  return method === "POST" && headers.get("mcp-method") === listenMethod;
}

type Forward = (body: unknown) => Promise<Response>;

/** The listen requests for tasks of one handler. All others, and all that is not about tasks, are the SDK's. */
export class TaskListeners {
  readonly #server: TaskServer;
  readonly #streams = new Set<TaskStream>();
  #closed = false;

  constructor(server: TaskServer) {
    this.#server = server;
  }

  /** `forward` has the SDK answer the same request with another body. */
  async serve(request: Request, owner: Owner, body: unknown, forward: Forward): Promise<Response> {
    const listening = isJsonObject(body) ? taskListening(body["params"]) : undefined;
    if (!isJsonObject(body) || listening === undefined) return forward(body);

    const missing = missingForListen(readCapabilities(body["params"]) ?? {});
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
    for (const stream of this.#streams) stream.end();
  }

  async #listen({ request, owner, listening, body, response, sdk }: Accepted): Promise<Response> {
    const { signal } = request;
    const feed = await this.#server.listen(listening.taskIds, owner);
    if (this.#closed) {
      feed.close();
      throw new HoldfastError("stopping", "The server is stopping.");
    }
    if (this.#streams.size >= maxStreams) {
      feed.close();
      await sdk.cancel();
      return failure(idOf(body), { code: -32603, message: "Subscription limit reached" }, 200);
    }
    const { errorOf } = this.#server;
    const onEnd = (): void => void this.#streams.delete(stream);
    const stream = new TaskStream({ sdk, feed, id: idOf(body), signal, errorOf, onEnd });
    this.#streams.add(stream);
    stream.start();
    return new Response(stream.readable, { status: response.status, headers: response.headers });
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

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Of a request that the SDK has accepted. */
function idOf({ id }: JsonObject): SubscriptionId {
  return id as SubscriptionId;
}

function failure(id: SubscriptionId, error: object, status: number): Response {
  return Response.json({ jsonrpc: "2.0", id, error }, { status });
}
