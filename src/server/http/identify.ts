import type { IncomingMessage } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../generation/message.ts";
import { HoldfastError } from "../../task/fault.ts";
import { mostNameBytes } from "../../task/stored-text.ts";
import type { Owner } from "../request.ts";
import type { OnError } from "../faults.ts";
import type { Authenticate, FetchHandlerOptions, Identity, ProtectedResource } from "./http-options.ts";
import { type HttpRequest, webOf } from "./http-request.ts";
import { refuse } from "./refusals.ts";

/** The owner of what a request creates, with what the SDK hands to the author's own tools. */
export interface Sender extends Owner {
  /** Where the request came from, if known: what callers without a principal are told apart by where something is limited. */
  readonly address?: string | undefined;
  readonly authInfo?: AuthInfo;
}

/** The one principal of all callers under `anonymous: "shared"`. */
const everyone = "anonymous";

/** The protection that also checks scopes, if `authenticate` is one. */
export function protectedResource({
  authenticate,
}: Pick<FetchHandlerOptions, "authenticate">): ProtectedResource | undefined {
  if (authenticate === undefined || typeof authenticate === "function") return undefined;
  return authenticate;
}

/** The sender of requests if no authentication is required; undefined if it is. */
function anonymousSender(
  anonymous: FetchHandlerOptions["anonymous"] = "isolated",
  address?: string,
): Sender | undefined {
  switch (anonymous) {
    case "isolated":
      return { principal: null, address };
    case "shared":
      return { principal: everyone };
    case "refused":
      return undefined;
  }
}

/** What is known of a request's sender before we look at it. */
export interface Upstream {
  /** What authentication before us left: an `AuthInfo` of the SDK, or something of its own. */
  readonly auth?: unknown;
  readonly incoming?: IncomingMessage;
}

type IdentifyOptions = Pick<FetchHandlerOptions, "authenticate" | "anonymous">;

/** The sender of `request`, or the refusal; a promise if somebody has to be asked, which rejects if `authenticate` does. */
export function identify(
  request: HttpRequest,
  upstream: Upstream = {},
  options: IdentifyOptions,
  onError: OnError,
): Sender | Response | Promise<Sender | Response> {
  const { authenticate } = options;
  if (authenticate === undefined) return senderFrom(upstream, options) ?? unauthenticated();
  return authenticated(request, upstream, authenticate, onError);
}

async function authenticated(
  request: HttpRequest,
  upstream: Upstream,
  authenticate: Authenticate | ProtectedResource,
  onError: OnError,
): Promise<Sender | Response> {
  const owner =
    typeof authenticate === "function"
      ? await byFunction(webOf(request), upstream, authenticate)
      : await authenticate.authenticate(webOf(request), onError);
  return owner instanceof Response ? owner : senderOf(owner);
}

/** Throws `configuration` for an identity that has no principal, or one that no task can have. */
export function senderOf({ principal, authInfo, access, claims, credentials }: Identity): Sender {
  // Without this check, users without a name would share their tasks.
  if (typeof principal !== "string" || principal === "") {
    throw new HoldfastError("configuration", "authenticate() returned an identity without a principal.");
  }
  const bytes = Buffer.byteLength(principal);
  if (bytes > mostNameBytes.principal) {
    const problem = `authenticate() returned a principal of ${bytes} bytes, and ${mostNameBytes.principal} are the most that it may have.`;
    throw new HoldfastError("configuration", `${problem} Use a shorter name, such as a hash of it.`);
  }
  if (claims !== undefined && !isJsonObject(claims)) {
    throw new HoldfastError("configuration", "authenticate() returned claims that are not an object.");
  }
  const scopes = authInfo?.scopes ?? access?.scopes;
  return {
    principal,
    ...(authInfo !== undefined && { authInfo }),
    ...(access !== undefined && { access }),
    auth: {
      ...(authInfo !== undefined && { clientId: authInfo.clientId }),
      ...(scopes !== undefined && { scopes }),
      ...(claims !== undefined && { claims }),
      ...(credentials !== undefined && { credentials }),
    },
  };
}

/**
 * The sender if we do not authenticate: the one that earlier authentication found, or an anonymous one; undefined if that is refused.
 * Throws `configuration` for one without a subject: the client of an OAuth token is shared by all of its users.
 */
export function senderFrom({ auth, incoming }: Upstream, { anonymous }: IdentifyOptions): Sender | undefined {
  if (auth === undefined || auth === null) {
    return anonymousSender(anonymous, incoming?.socket.remoteAddress);
  }
  const subject = isAuthInfo(auth) ? subjectOf(auth) : undefined;
  if (isAuthInfo(auth) && subject !== undefined) return senderOf({ ...subject, authInfo: auth });
  throw new HoldfastError(
    "configuration",
    "The request is already authenticated, but its authInfo has no subject in extra.sub, so the server cannot tell whose tasks it may see. Set the option authenticate: async (request, { authInfo, incoming }) => the principal.",
  );
}

/** Named as in `oauthResource`, so that owners keep their tasks if one replaces the other. */
export function subjectOf(
  auth: AuthInfo & { issuer?: unknown; subject?: unknown },
): Pick<Identity, "principal" | "claims"> | undefined {
  const sub = auth.subject ?? auth.extra?.["sub"];
  const iss = auth.issuer ?? auth.extra?.["iss"];
  if (typeof sub !== "string" || sub === "") return undefined;
  const issuer = typeof iss === "string" ? iss : null;
  return {
    principal: JSON.stringify([issuer, sub]),
    claims: { ...(issuer !== null && { iss: issuer }), sub },
  };
}

function isAuthInfo(auth: unknown): auth is AuthInfo {
  if (!isJsonObject(auth)) return false;
  const { token, clientId, scopes } = auth;
  return typeof token === "string" && typeof clientId === "string" && Array.isArray(scopes);
}

async function byFunction(
  request: Request,
  { auth, incoming }: Upstream,
  authenticate: Authenticate,
): Promise<Identity | Response> {
  const found = await authenticate(request, {
    ...(isAuthInfo(auth) && { authInfo: auth }),
    ...(incoming !== undefined && { incoming }),
  });
  // JavaScript callers may say null.
  if (found == null) return unauthenticated();
  return typeof found === "string" ? { principal: found } : found;
}

function unauthenticated(): Response {
  return refuse(401, "Authentication is required.", { "WWW-Authenticate": "Bearer" });
}
