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
  insideFor,
  operatorEndpoint,
  type OperatorEndpoint,
  OperatorGate,
  type OperatorRequests,
  refusal,
  sentBy,
} from "./operator-endpoint.ts";
import { adminHandlerOptions, type AdminHandlerOptions, type Operator } from "./operator-options.ts";
import { OutgoingStream, streamHeaders } from "./outgoing-stream.ts";
import { type Backlog, UnreadBytes } from "./unread-bytes.ts";
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

/** Streams of server-sent events, each read as fast as its client reads it. */
export class EventStreams {
  readonly #onError: OnError;
  readonly #open = new Set<OutgoingStream>();
  /** One event at a time waits for a client. */
  readonly #unread = new UnreadBytes(Infinity);

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
    const count = (cut: () => void): Backlog => this.#unread.open(null, cut);
    const stream = new OutgoingStream({ count, signal: gone, keepAlive: true });
    this.#open.add(stream);
    const over = new AbortController();
    const timer = setTimeout(() => stream.complete(), longestMs).unref();
    stream.whenEnded(() => {
      this.#open.delete(stream);
      clearTimeout(timer);
      over.abort();
    });
    try {
      const events = follow(over.signal)[Symbol.asyncIterator]();
      // It may not answer, and is not waited for.
      stream.whenEnded(() => void events.return?.().catch((error: unknown) => this.#broken(error)));
      const first = await events.next();
      stream.write(encoder.encode(`retry: ${retryMs}\n\n${first.done === true ? "" : textOf(first.value)}`));
      this.#send(first.done === true ? undefined : events, stream).catch((error: unknown) =>
        this.#broken(error),
      );
      return new Response(stream.readable, { headers: streamHeaders });
    } catch (error) {
      stream.abandon();
      throw error;
    }
  }

  /** Ends all streams. */
  close(): void {
    for (const stream of this.#open) stream.complete();
  }

  async #send(events: AsyncIterator<unknown, unknown> | undefined, stream: OutgoingStream): Promise<void> {
    try {
      while (events !== undefined && stream.isOpen) {
        await stream.drained();
        const { done, value } = await events.next();
        if (done === true) break;
        stream.write(encoder.encode(textOf(value)));
      }
    } finally {
      stream.complete();
    }
  }

  /** If the store no longer answers, clients get that error on their next request. */
  #broken(error: unknown): void {
    if (!(error instanceof HoldfastError)) this.#onError(error);
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
  const { runtime, onError, events } = insideFor(tasks, "createAdminHandler(tasks, { authenticate })");
  const administered = { admin: tasks.admin, options: runtime.options, onError, events };
  return operatorEndpoint(new AdminRequests(administered, options), onError);
}
