import type { Admin } from "../../../admin/admin.ts";
import { matchRoute } from "../../../admin/endpoint/match-route.ts";
import { documentPath, openApiDocument } from "../../../admin/endpoint/openapi.ts";
import { Query } from "../../../admin/endpoint/query.ts";
import type { ServerEvents } from "../../../runtime/events/server-events.ts";
import type { RuntimeOptions } from "../../../runtime/options.ts";
import { HoldfastError } from "../../../task/fault.ts";
import { assertOptionNames } from "../../../task/option-names.ts";
import type { OnError } from "../../faults.ts";
import { AllowedNames } from "../allowed-names.ts";
import { withAnswerHeaders } from "../answer-headers.ts";
import { BodyReads } from "../body-reads.ts";
import { tellHttpRefusal } from "../http-refusals.ts";
import { bodyReadLimits } from "../limits.ts";
import { pathOf } from "../node-request.ts";
import { readBody, type BodyForm, type ParsedBody } from "../read-body.ts";
import { adaptedRefusal, refusal, refusalOf } from "./admin-answers.ts";
import { adminHandlerOptions, type AdminHandlerOptions } from "./admin-handler-options.ts";
import type { AuthenticateOperator, Operator } from "./admin-options.ts";

/** What an admin endpoint is made for. */
export interface Administered {
  readonly admin: Admin;
  readonly options: Pick<RuntimeOptions, "maxBodyBytes" | "maxNesting" | "maxNodes">;
  readonly onError: OnError;
  /** Hears of strangers. */
  readonly events: ServerEvents | undefined;
}

/** Answers the requests of operators. */
export class AdminRequests {
  readonly path: string;
  readonly #administered: Administered;
  readonly #authenticate: AuthenticateOperator;
  readonly #names: AllowedNames;
  readonly #bodies: BodyReads;
  readonly #form: BodyForm;
  #closed = false;

  /** Throws `configuration` for options that would let everybody in, or nobody. */
  constructor(administered: Administered, options: AdminHandlerOptions) {
    assertOptionNames("createAdminHandler", options, adminHandlerOptions);
    const { path = "/admin", authenticate, ...http } = options;
    if (!/^(?:\/[\w.~-]+)+$/.test(path) || new URL(path, "http://localhost").pathname !== path)
      throw wrong(`path "${path}" of the admin endpoint has to be one such as /admin.`);
    if (typeof authenticate !== "function") {
      throw wrong(
        "An admin endpoint has an authentication of its own: give authenticate, such as adminToken(process.env.ADMIN_TOKEN).",
      );
    }
    this.path = path;
    this.#administered = administered;
    this.#authenticate = authenticate;
    this.#names = new AllowedNames(http, undefined);
    this.#bodies = new BodyReads(bodyReadLimits(administered, http));
    const { maxNesting, maxNodes } = administered.options;
    this.#form = { maxNesting, maxNodes, maxBatch: Infinity };
  }

  /** Whether a path, without its query, is the endpoint's or below it. */
  serves(pathname: string): boolean {
    return pathname === this.path || pathname.startsWith(`${this.path}/`);
  }

  async fetch(request: Request, parsed?: ParsedBody): Promise<Response> {
    const { onError, events } = this.#administered;
    const answer = await this.#answer(request, parsed).catch((error: unknown) => refusalOf(error, onError));
    // Who may not do what he asks for. All else is an operator's mistake, and he is told.
    if (events !== undefined && (answer.status === 401 || answer.status === 403))
      tellHttpRefusal(events, answer, { principal: null });
    return withAnswerHeaders(answer, null, undefined);
  }

  /** Answers 503 from now on. */
  close(): void {
    this.#closed = true;
    this.#bodies.close();
  }

  async #answer(request: Request, parsed: ParsedBody | undefined): Promise<Response> {
    const pathname = pathOf(request);
    if (!this.serves(pathname)) return refusal(404, "method_not_found", `Nothing is served at ${pathname}.`);
    const forbidden = this.#names.refusal(request);
    if (forbidden !== undefined) return adaptedRefusal(forbidden);
    const operator = await this.#authenticate(request);
    // JavaScript callers may say null.
    if (operator === undefined || operator === null) return unauthenticated();
    assertOperator(operator);
    if (this.#closed) throw new HoldfastError("stopping", "The server is stopping.");
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
      return refusal(404, "method_not_found", `There is no ${path} of an admin endpoint.`);
    if ("allowed" in match) {
      const allowed = match.allowed.join(", ");
      return refusal(405, "invalid_request", `There is ${allowed} only.`, { Allow: allowed });
    }
    const { route, name } = match;
    if (method !== "GET" && role !== "write")
      throw new HoldfastError("insufficient_scope", "Who asks may read, and change nothing.");
    const query = new Query(new URL(request.url).searchParams, Object.keys(route.query ?? {}));
    const read = await readBody(request, this.#bodies, this.#form, parsed);
    if (read instanceof Response) return adaptedRefusal(read);
    const { admin } = this.#administered;
    const answer = await route.run({ admin, acts: () => admin.as(actor), name, query, body: read.body });
    return route.answer === undefined ? new Response(null, { status: 204 }) : Response.json(answer);
  }
}

function unauthenticated(): Response {
  const message = "An operator has to say who he is: with a token of the admin endpoint.";
  return refusal(401, "unauthenticated", message, { "WWW-Authenticate": 'Bearer realm="admin"' });
}

function assertOperator({ actor, role }: Operator): void {
  if (typeof actor !== "string" || actor.trim() === "")
    throw wrong("authenticate of the admin endpoint returned an operator without a name (actor).");
  // A slip of JavaScript authors must not let anybody act.
  if (role !== undefined && role !== "read" && role !== "write")
    throw wrong(`The role of an operator is "read" or "write", not ${JSON.stringify(role)}.`);
}

function wrong(message: string): HoldfastError {
  return new HoldfastError("configuration", message);
}
