import type { Admin } from "../../../admin/admin.ts";
import { matchRoute } from "../../../admin/endpoint/match-route.ts";
import { documentPath, openApiDocument } from "../../../admin/endpoint/openapi.ts";
import { Query } from "../../../admin/endpoint/query.ts";
import type { ServerEvents } from "../../../runtime/events/server-events.ts";
import type { RuntimeSettings } from "../../../runtime/options.ts";
import { HoldfastError } from "../../../task/fault.ts";
import { assertOptions } from "../../../options/options.ts";
import type { OnError } from "../../faults.ts";
import { withAnswerHeaders } from "../answer-headers.ts";
import { BodyReads } from "../body-reads.ts";
import { reportHttpRefusal } from "../http-refusals.ts";
import { bodyReadLimits } from "../limits.ts";
import { pathOf } from "../node-request.ts";
import type { OperatorRequests } from "../operator-endpoint.ts";
import { OperatorGate } from "../operator-gate.ts";
import { readBody, type BodyForm, type ParsedBody } from "../read-body.ts";
import { adaptedRefusal, refusal, refusalOf } from "./admin-answers.ts";
import { adminHandlerOptions, type AdminHandlerOptions, type Operator } from "../operator-options.ts";
import { EventStreams } from "./event-streams.ts";

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

  async fetch(request: Request, parsed?: ParsedBody): Promise<Response> {
    const { onError, events } = this.#administered;
    const answer = await this.#answer(request, parsed).catch((error: unknown) => refusalOf(error, onError));
    // The operator lacks the permission. Everything else is an operator's mistake, which the answer explains.
    if (events !== undefined && (answer.status === 401 || answer.status === 403))
      reportHttpRefusal(events, answer, { principal: null });
    return withAnswerHeaders(answer, null, undefined);
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
    { actor, role = "write" }: Operator,
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
    const { route, name } = match;
    if (method !== "GET" && role !== "write")
      throw new HoldfastError(
        "insufficient_scope",
        'This operator has the role "read" and cannot make changes.',
      );
    const query = new Query(new URL(request.url).searchParams, Object.keys(route.query ?? {}));
    const read = await readBody(request, this.#bodies, this.#form, parsed);
    if (read instanceof Response) return adaptedRefusal(read);
    const { admin } = this.#administered;
    const call = { admin, acts: () => admin.as(actor), name, query, body: read.body };
    if ("follow" in route)
      return this.#streams.answer((signal) => route.follow(call, signal), request.signal);
    const answer = await route.run(call);
    return route.answer === undefined ? new Response(null, { status: 204 }) : Response.json(answer);
  }
}
