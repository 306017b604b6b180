import { inputOfRequest, matchRoute } from "../../admin/endpoint.ts";
import { documentPath, openApiDocument } from "../../admin/openapi.ts";
import { call } from "../../admin/operation.ts";
import type { Admin } from "../../admin/operations.ts";
import { readsAs } from "../../admin/record-reads.ts";
import { assertRole, shownTo } from "../../admin/roles.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import type { RuntimeSettings } from "../../runtime/options.ts";
import { systemClock } from "../../runtime/clock.ts";
import { HoldfastError } from "../../task/fault.ts";
import { assertOptions } from "../../options/options.ts";
import type { OnError } from "../faults.ts";
import { type BodyForm, BodyReads, type ParsedBody, bodyReadLimits, readBody } from "./request-body.ts";
import { pathOf } from "./http-request.ts";
import {
  adaptedRefusal,
  operatorEndpoint,
  type OperatorEndpoint,
  OperatorGate,
  type OperatorRequests,
  refusal,
  sentBy,
} from "./operator-endpoint.ts";
import { adminHandlerOptions, type AdminHandlerOptions, type Operator } from "./operator-options.ts";
import { keepAliveComment, keepAliveMs, streamHeaders } from "./outgoing-stream.ts";
import { insideOf } from "../request.ts";
import type { Tasks } from "../tasks.ts";

/** What an admin endpoint administers. */
export interface Administered {
  readonly admin: Admin;
  readonly options: Pick<RuntimeSettings, "maxBodyBytes" | "maxNesting" | "maxNodes">;
  readonly onError: OnError;
  /** Told of unauthenticated requests. */
  readonly events: ServerEvents | undefined;
}

/** Answers the requests of operators. */
export class AdminRequests implements OperatorRequests {
  readonly path: string;
  readonly #administered: Administered;
  readonly #gate: OperatorGate;
  readonly #bodies: BodyReads;
  readonly #form: BodyForm;
  readonly #streams: EventStreams;

  /** Throws `configuration` for options that would admit everyone, or no one. */
  constructor(administered: Administered, options: AdminHandlerOptions) {
    assertOptions("createAdminHandler", options, adminHandlerOptions);
    const { path = "/admin", authenticate, ...http } = options;
    this.path = path;
    this.#administered = administered;
    this.#gate = new OperatorGate("admin", { authenticate, ...http });
    this.#bodies = new BodyReads(bodyReadLimits(administered, http));
    this.#streams = new EventStreams(administered.onError);
    const { maxNesting, maxNodes } = administered.options;
    this.#form = { maxNesting, maxNodes, maxBatch: Infinity };
  }

  /** Whether a path, without its query, is the endpoint's path or below it. */
  serves(pathname: string): boolean {
    return pathname === this.path || pathname.startsWith(`${this.path}/`);
  }

  fetch(request: Request, parsed?: ParsedBody): Promise<Response> {
    return sentBy(this.#answer(request, parsed), this.#administered);
  }

  /** Answers 503 from now on, and ends streams. */
  close(): void {
    this.#gate.close();
    this.#bodies.close();
    this.#streams.close();
  }

  async #answer(request: Request, parsed: ParsedBody | undefined): Promise<Response> {
    const pathname = pathOf(request);
    if (!this.serves(pathname)) return refusal(404, "method_not_found", `Nothing is served at ${pathname}.`);
    const operator = await this.#gate.admit(request);
    if (operator instanceof Response) return operator;
    return this.#route(request, pathname.slice(this.path.length), operator, parsed);
  }

  async #route(
    request: Request,
    path: string,
    { actor, role = "admin" }: Operator,
    parsed: ParsedBody | undefined,
  ): Promise<Response> {
    const { method } = request;
    if (path === documentPath && method === "GET") return Response.json(openApiDocument(this.path));
    const match = matchRoute(method, path);
    if (match === undefined)
      return refusal(404, "method_not_found", `The admin endpoint has no path "${path}".`);
    if ("allowed" in match) {
      const allowed = match.allowed.join(", ");
      return refusal(405, "invalid_request", `Allowed methods: ${allowed}.`, { Allow: allowed });
    }
    const { operation, inPath } = match;
    const isRead = operation.method === "GET";
    assertRole(role, operation);
    const read = await readBody(request, this.#bodies, this.#form, parsed);
    if (read instanceof Response) return adaptedRefusal(read);
    const search = new URL(request.url).searchParams;
    const input = inputOfRequest(operation, { inPath, search, body: read.body });
    assertRole(role, operation, { input, now: systemClock.now() });
    const { admin, onError } = this.#administered;
    const methods = isRead ? readsAs(admin, actor, onError) : admin.as(actor);
    if (operation.isStream === true) {
      const follow = (signal: AbortSignal): AsyncIterable<unknown, unknown> =>
        call(methods, operation, input, signal) as AsyncIterable<unknown, unknown>;
      return this.#streams.answer(follow, request.signal);
    }
    const answer = await call(methods, operation, input);
    if (operation.gives === undefined) return new Response(null, { status: 204 });
    return Response.json(shownTo(role, operation.gives, answer));
  }
}

/** Maximum number of open streams of an endpoint. */
const mostStreams = 100;

/** How long a stream stays open, so that a client that loses access stops receiving events. */
const longestMs = 10 * 60_000;

/** How long a client waits before it reconnects. */
const retryMs = 1_000;

const encoder = new TextEncoder();

type Events = AsyncIterator<unknown, unknown>;

/** Streams of server-sent events, each read as fast as its client reads it. */
export class EventStreams {
  readonly #onError: OnError;
  readonly #open = new Set<AbortController>();

  constructor(onError: OnError) {
    this.#onError = onError;
  }

  /** Streams what `follow` yields, after waiting for its first value. `gone` aborts when the client disconnects. */
  async answer(
    follow: (signal: AbortSignal) => AsyncIterable<unknown, unknown>,
    gone: AbortSignal,
  ): Promise<Response> {
    if (this.#open.size >= mostStreams) {
      const message = `All ${mostStreams} event streams are in use. Try again later.`;
      return refusal(503, "limit_reached", message, { "Retry-After": "5" });
    }
    const over = new AbortController();
    const end = (): void => over.abort();
    this.#open.add(over);
    const timer = setTimeout(end, longestMs).unref();
    over.signal.addEventListener("abort", () => {
      this.#open.delete(over);
      clearTimeout(timer);
      gone.removeEventListener("abort", end);
    });
    gone.addEventListener("abort", end);
    if (gone.aborted) end();
    try {
      const events = follow(over.signal)[Symbol.asyncIterator]();
      const first = await events.next();
      const chunks = new Chunks(events, first, (error) => this.#broken(error));
      over.signal.addEventListener("abort", () => chunks.end());
      if (over.signal.aborted) chunks.end();
      return new Response(readableOf(chunks, over), { headers: streamHeaders });
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Ends all streams. */
  close(): void {
    for (const over of this.#open) over.abort();
  }

  /** If the store no longer answers, clients get that error on their next request. */
  #broken(error: unknown): void {
    if (!(error instanceof HoldfastError)) this.#onError(error);
  }
}

function readableOf(chunks: Chunks, over: AbortController): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await chunks.next();
        if (chunk !== undefined) return controller.enqueue(chunk);
        over.abort();
        controller.close();
      },
      cancel: () => over.abort(),
    },
    { highWaterMark: 0 },
  );
}

/** Events in order, on demand; a comment if there is no event for long. */
class Chunks {
  readonly #events: Events;
  readonly #broken: (error: unknown) => void;
  #ready: Uint8Array | undefined;
  #isReading = false;
  #isOver: boolean;
  #wake = (): void => undefined;

  constructor(events: Events, first: IteratorResult<unknown, unknown>, broken: (error: unknown) => void) {
    this.#events = events;
    this.#broken = broken;
    this.#isOver = first.done === true;
    this.#ready = encoder.encode(`retry: ${retryMs}\n\n${this.#isOver ? "" : textOf(first.value)}`);
  }

  /** Undefined at the end. Call it again only after it resolved. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#ready === undefined && !this.#isOver) {
      if (!this.#isReading) void this.#read();
      await this.#waitForEvent();
      if (this.#ready === undefined && !this.#isOver) return keepAliveComment;
    }
    const chunk = this.#ready;
    this.#ready = undefined;
    return chunk;
  }

  /**
   * Events that are ready still go out. A call that waits for the next event gets the end, and a `follow` that does not answer is not
   * waited for.
   */
  end(): void {
    this.#isOver = true;
    this.#events.return?.().catch(this.#broken);
    this.#wake();
  }

  /** Continues while comments are sent, so that each comment does not wait for its own promise. */
  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      const { done, value } = await this.#events.next();
      if (done === true) this.#isOver = true;
      else this.#ready = encoder.encode(textOf(value));
    } catch (error) {
      this.#isOver = true;
      this.#broken(error);
    }
    this.#isReading = false;
    this.#wake();
  }

  #waitForEvent(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, keepAliveMs).unref();
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#wake = wake;
    });
  }
}

function textOf(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/**
 * Serves `tasks.admin` on `options.path` over HTTP, as JSON, to operators that `authenticate` identifies; `GET …/openapi.json` describes
 * it. It neither starts nor stops the tasks: before they start, requests get 503. Throws `configuration` without authentication.
 *
 * ```ts
 * app.use(createAdminHandler(tasks, { authenticate: adminToken(process.env.ADMIN_TOKEN, "on-call") }));
 * ```
 */
export function createAdminHandler(tasks: Tasks, options: AdminHandlerOptions): OperatorEndpoint {
  const inside = insideOf(tasks);
  if (inside === undefined) {
    const message =
      "createAdminHandler takes what createTasks returns: createAdminHandler(tasks, { authenticate }).";
    throw new HoldfastError("configuration", message);
  }
  const { runtime, onError, events } = inside;
  const administered = { admin: tasks.admin, options: runtime.options, onError, events };
  return operatorEndpoint(new AdminRequests(administered, options), onError);
}
