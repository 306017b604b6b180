import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { adminStatusOf, isAdminFault } from "../../admin/operation.ts";
import { isJsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { OnError } from "../faults.ts";
import type { AuthenticateOperator, NameOptions, Operator } from "./operator-options.ts";
import { isRole, roles } from "../../admin/roles.ts";
import { stopping } from "../../task/unanswered.ts";
import { type InsideTasks, insideOf } from "../request.ts";
import type { Tasks } from "../tasks.ts";
import type { ServerEvents } from "../../runtime/events/server-events.ts";
import { AllowedNames, reportHttpRefusal } from "./admission.ts";
import { withAnswerHeaders } from "./refusals.ts";
import { httpSettings, type RequestContext } from "./http-options.ts";
import type { NextFunction } from "./node-handler.ts";
import { pathnameOf, type ReceivedMessage, wasRead, webOf } from "./http-request.ts";
import { NodeRequests } from "./node-requests.ts";
import type { ParsedBody } from "./request-body.ts";
import { UnreadBytes } from "./unread-bytes.ts";

/** The format of all refusals of an admin endpoint. */
export function refusal(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ error: { code, message } }, { status, headers });
}

/** The answer to a thrown error. Faults of the server itself also go to `onError`. */
export function refusalOf(error: unknown, onError: OnError): Response {
  if (error instanceof HoldfastError && isAdminFault(error.code)) {
    const { code, message } = error;
    const status = adminStatusOf(code);
    if (status >= 500 && status !== 503) onError(error);
    return refusal(status, code, message, status === 503 ? { "Retry-After": "1" } : {});
  }
  onError(error);
  return refusal(500, "internal", "Internal error. The server's log has the details.");
}

const codes: Readonly<Record<number, string>> = { 413: "too_large", 503: "stopping" };

/** Converts a refusal of the MCP endpoint to this endpoint's format. */
export async function adaptedRefusal(refused: Response): Promise<Response> {
  const body: unknown = await refused.json();
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};
  const retryAfter = refused.headers.get("retry-after");
  return refusal(
    refused.status,
    codes[refused.status] ?? "invalid_request",
    String(error["message"]),
    retryAfter === null ? {} : { "Retry-After": retryAfter },
  );
}

/**
 * Authenticates one operator by a bearer token, compared in constant time. Use a random token: `openssl rand -hex 32`. Throws
 * `configuration` for a token that does not fit in a header.
 *
 * ```ts
 * createAdminHandler(tasks, { authenticate: adminToken(process.env.ADMIN_TOKEN, "on-call") });
 * ```
 */
export function adminToken(
  token: string | undefined,
  operator: string | Operator = "operator",
): AuthenticateOperator {
  // An unset variable must not let everybody in who sends nothing.
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    const message =
      "adminToken needs a token of visible ASCII characters, such as the output of openssl rand -hex 32.";
    throw new HoldfastError("configuration", message);
  }
  const expected = digest(token);
  const known = typeof operator === "string" ? { actor: operator } : operator;
  return async ({ headers }) => {
    const [, given] = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    if (given === undefined) return undefined;
    return timingSafeEqual(digest(given), expected) ? known : undefined;
  };
}

/** Digests have equal length, as the comparison requires. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

export interface OperatorGateOptions extends NameOptions {
  readonly authenticate: AuthenticateOperator;
}

/** Admits only operators to an operators' endpoint. */
export class OperatorGate {
  readonly #endpoint: string;
  readonly #authenticate: AuthenticateOperator;
  readonly #names: AllowedNames;
  #closed = false;

  constructor(endpoint: "admin" | "metrics" | "dashboard", { authenticate, ...names }: OperatorGateOptions) {
    this.#endpoint = endpoint;
    this.#authenticate = authenticate;
    this.#names = new AllowedNames(names, undefined);
  }

  /** The operator, or the refusal of the request. */
  async admit(request: Request): Promise<Operator | Response> {
    const forbidden = this.#names.refusal(request);
    if (forbidden !== undefined) return adaptedRefusal(forbidden);
    const operator = await this.#authenticate(request);
    // JavaScript callers may say null.
    if (operator === undefined || operator === null) return this.#unauthenticated();
    assertOperator(operator, this.#endpoint);
    this.assertOpen();
    return operator;
  }

  /** Throws `stopping` once it is closed. */
  assertOpen(): void {
    if (this.#closed) throw stopping();
  }

  /** Admits no one from now on. */
  close(): void {
    this.#closed = true;
  }

  #unauthenticated(): Response {
    const message = `The ${this.#endpoint} endpoint requires a valid operator token.`;
    const challenge = { "WWW-Authenticate": `Bearer realm="${this.#endpoint}"` };
    return refusal(401, "unauthenticated", message, challenge);
  }
}

/** Throws `configuration` for what is no operator: a slip of JavaScript authors must not let anybody act. */
export function assertOperator({ actor, role }: Operator, endpoint: string): void {
  if (typeof actor !== "string" || actor.trim() === "")
    throw wrong(`authenticate of the ${endpoint} endpoint returned an operator without a name (actor).`);
  if (role !== undefined && !isRole(role))
    throw wrong(`The role of an operator is one of ${roles.join(", ")}, not ${JSON.stringify(role)}.`);
}

function wrong(message: string): HoldfastError {
  return new HoldfastError("configuration", message);
}

/** An endpoint for operators: a request listener of `node:http`, middleware of Express and others, and a function from request to response. */
export interface OperatorEndpoint {
  /** The `next` of a middleware gets the requests for other paths. */
  (incoming: IncomingMessage, outgoing: ServerResponse, next?: NextFunction): void;
  /** `parsedBody` is the body, if a framework has already read it. */
  fetch(request: Request, context?: Pick<RequestContext, "parsedBody">): Promise<Response>;
  /** The path of the endpoint. */
  readonly path: string;
  /** Whether a request for this path is for the endpoint. */
  serves(pathname: string): boolean;
  /** Answers 503 from now on. It does not stop the tasks. Idempotent. */
  close(): void;
}

/** Who is told of what an endpoint refuses. */
export interface EndpointListeners {
  readonly onError: OnError;
  /** Told of those who lack access. */
  readonly events?: ServerEvents | undefined;
}

/** What an endpoint sends: its answer, or the refusal for what was thrown, which is private to its recipient. */
export async function sentBy(
  answer: Promise<Response>,
  { onError, events }: EndpointListeners,
): Promise<Response> {
  const sent = await answer.catch((error: unknown) => refusalOf(error, onError));
  // All else is an operator's mistake, which the answer explains.
  if (events !== undefined && (sent.status === 401 || sent.status === 403))
    reportHttpRefusal(events, sent, { principal: null });
  return withAnswerHeaders(sent, null, undefined);
}

/** The inside of what an endpoint is made for. Throws `configuration` for what `createTasks` has not returned; `call` is how it is right. */
export function insideFor(tasks: Tasks, call: string): InsideTasks {
  const inside = insideOf(tasks);
  if (inside !== undefined) return inside;
  const [maker] = call.split("(");
  throw new HoldfastError("configuration", `${maker} takes what createTasks returns: ${call}.`);
}

/** Answers the requests of an endpoint. */
export interface OperatorRequests {
  readonly path: string;
  serves(pathname: string): boolean;
  /** `address`: where the request came from, if known. */
  fetch(request: Request, parsed?: ParsedBody, address?: string): Promise<Response>;
  close(): void;
}

export function operatorEndpoint(requests: OperatorRequests, onError: OnError): OperatorEndpoint {
  const limits = httpSettings({});
  const nodeRequests = new NodeRequests({
    handler: {
      answer: (request, { parsed, upstream }) =>
        requests.fetch(webOf(request), parsed, upstream?.incoming?.socket.remoteAddress),
      headed: (answer) => answer,
      unread: new UnreadBytes(limits.maxOutgoingBytes),
    },
    limits,
    inForm: async (refused) => withAnswerHeaders(await adaptedRefusal(refused), null, undefined),
    onError,
    onResponse: () => undefined,
  });
  const handle = (incoming: ReceivedMessage, outgoing: ServerResponse, next?: NextFunction): void => {
    if (next !== undefined && !requests.serves(pathnameOf(incoming))) {
      next();
      return;
    }
    const parsed = wasRead(incoming) ? { value: incoming.body } : undefined;
    nodeRequests.handle(incoming, outgoing, { parsed });
  };
  return Object.assign(handle, {
    path: requests.path,
    serves: (pathname: string) => requests.serves(pathname),
    fetch: (request: Request, { parsedBody }: Pick<RequestContext, "parsedBody"> = {}) =>
      requests.fetch(request, parsedBody === undefined ? undefined : { value: parsedBody }),
    close: () => requests.close(),
  });
}
