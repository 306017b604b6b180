import {
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
} from "@modelcontextprotocol/server";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { isJsonObject } from "../../generation/message.ts";
import { listenMethod, taskListening } from "../../generation/2026-07-28-listen.ts";
import { HoldfastError } from "../../task/fault.ts";
import { namedResourceOf } from "../task-resources.ts";
import type { OnError } from "../faults.ts";
import type { Identity, ProtectedResource } from "../http/http-options.ts";
import { refuse } from "../http/refusals.ts";
import {
  type AccessToken,
  invalidToken,
  isUnavailable,
  isUndecided,
  type TokenVerifier,
} from "./access-token.ts";

/** The scopes that requests need. */
export interface ScopeRules {
  /** Needed for every request, including one that opens a session. */
  readonly required?: readonly string[];
  /**
   * Needed to call a tool, by its name, in addition to `required`. Tools not listed need only `required`. If a tool calls it on its
   * caller's behalf, the token that made the first of these tasks needs the scopes.
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>;
  /**
   * Needed for requests about tasks, in addition to `required`: every `tasks/` method in every revision, listening to tasks, their logs, outputs
   * and artifacts, and the polling tools of clients without tasks. A call that creates a task needs the scopes of its tool instead.
   */
  readonly tasks?: readonly string[];
  /** The scopes that the metadata advertises to clients. Default `required`. */
  readonly advertised?: readonly string[];
}

const scopeRules: OptionNames<ScopeRules> = {
  required: true,
  tools: true,
  tasks: true,
  advertised: true,
};

/** Whether a tool is a polling tool, which counts as a request about tasks. */
export type IsPollingTool = (tool: string) => boolean;

/** The scopes that messages need. */
export class Scopes {
  readonly required: readonly string[];
  readonly advertised: readonly string[];
  /** A map, because a client may name a tool `constructor`. */
  readonly #tools: ReadonlyMap<string, readonly string[]>;
  readonly #tasks: readonly string[];

  /** Throws `configuration` for an invalid scope. */
  constructor(rules: ScopeRules) {
    assertOptionNames("scopes", rules, scopeRules);
    const { required = [], tools = {}, tasks = [], advertised = required } = rules;
    this.required = [...required];
    this.advertised = [...advertised];
    this.#tools = new Map(Object.entries(tools).map(([name, scopes]) => [name, [...scopes]]));
    this.#tasks = [...tasks];
    for (const scope of [...required, ...advertised, ...tasks, ...Object.values(tools).flat()]) {
      if (typeof scope === "string" && /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(scope)) continue;
      throw new HoldfastError("configuration", `${JSON.stringify(scope)} is not a valid scope.`);
    }
  }

  /** The scopes that a body needs, which is a message or a batch: every message counts. */
  neededFor(body: unknown, isPollingTool: IsPollingTool = () => false): ReadonlySet<string> {
    const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
    return new Set([
      ...this.required,
      ...messages.flatMap((message) => this.#ofMessage(message, isPollingTool)),
    ]);
  }

  /** The tools whose calls need scopes. */
  get scopedTools(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** The scopes that a tool's calls need, besides those of every request. */
  ofTool(name: string): readonly string[] {
    return this.#tools.get(name) ?? [];
  }

  /** Reads only the message, because that is what the server executes; headers may say anything. */
  #ofMessage(message: unknown, isPollingTool: IsPollingTool): readonly string[] {
    if (!isJsonObject(message)) return [];
    const { method, params } = message;
    if (typeof method !== "string") return [];
    if (method.startsWith("tasks/") || namedResourceOf(method, params) !== undefined) return this.#tasks;
    if (method === listenMethod) return taskListening(params) === undefined ? [] : this.#tasks;
    const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
    if (typeof name !== "string") return [];
    const own = this.ofTool(name);
    return isPollingTool(name) ? [...this.#tasks, ...own] : own;
  }
}

/** Options of `oauthResource`. */
export interface OAuthResourceOptions {
  /** The public URL of the MCP endpoint, as clients reach it through proxies. */
  readonly resource: URL;
  /** The issuers of the authorization servers that issue tokens for it. */
  readonly authorizationServers: readonly string[];
  readonly verifier: TokenVerifier;
  /**
   * The principal of a token, which owns its tasks. It has to be stable and unique, so do not use display names or email addresses.
   * Default: issuer and subject together; a token without a subject is refused.
   */
  readonly principal?: (token: AccessToken) => string;
  /**
   * The names of token claims that handlers find in `task.caller.claims`, in addition to `iss` and `sub`. They are stored with each task.
   * Default: none.
   */
  readonly claims?: readonly string[];
  /**
   * What `task.credentials()` returns to handlers, such as a token for another service. In memory only. It is called for each request, so
   * return something that gets the token on demand. Default: none.
   */
  readonly credentials?: (token: AccessToken) => unknown;
  /** The scopes that requests need. Default: none, so a valid token may do everything that its principal may. */
  readonly scopes?: ScopeRules;
  /** The server's display name. */
  readonly name?: string;
  /** The URL of documentation for developers. */
  readonly documentation?: URL;
}

type Reason = Pick<Challenge, "error" | "message">;

const withoutToken: Readonly<Record<Tokenless, Reason>> = {
  none: { message: "Authentication is required" },
  malformed: { error: "invalid_token", message: "The token is malformed" },
  in_query: { error: "invalid_request", message: "Tokens must not be sent in the URL" },
};

const scopeMissing: Reason = { error: "insufficient_scope", message: "The token lacks a required scope" };

const resourceOptions: OptionNames<OAuthResourceOptions> = {
  resource: true,
  authorizationServers: true,
  verifier: true,
  principal: true,
  claims: true,
  credentials: true,
  scopes: true,
  name: true,
  documentation: true,
};

/**
 * Protects a server as an OAuth resource server; use it as `authenticate`. Requests need a bearer token in their `Authorization` header,
 * and their tasks belong to the token's principal. It serves the metadata (RFC 9728) in which clients find the authorization servers, and
 * names missing scopes in `WWW-Authenticate`. Throws `configuration` for invalid options.
 *
 * ```ts
 * import { jwtVerifier, oauthResource } from "holdfast/auth";
 *
 * const resource = new URL("https://reports.example.com/mcp");
 * const issuer = "https://login.example.com";
 * const jwks = new URL("https://login.example.com/.well-known/jwks.json");
 * const http = await serveHttp(tasks.server(makeServer), {
 *   host: "0.0.0.0",
 *   authenticate: oauthResource({
 *     resource,
 *     authorizationServers: [issuer],
 *     verifier: jwtVerifier({ issuer, audience: resource.href, jwks }),
 *     scopes: { tools: { send_report: ["reports:send"] } },
 *   }),
 * });
 * ```
 */
export function oauthResource(options: OAuthResourceOptions): ProtectedResource {
  assertOptionNames("oauthResource", options, resourceOptions);
  const {
    resource,
    authorizationServers,
    verifier,
    principal = issuerAndSubject,
    claims = [],
    credentials,
    name,
    documentation,
  } = options;
  assertNamed(resource, authorizationServers);
  const scopes = new Scopes(options.scopes ?? {});
  const metadata = new Metadata(resource, {
    authorization_servers: [...authorizationServers],
    bearer_methods_supported: ["header"],
    ...(scopes.advertised.length > 0 && { scopes_supported: scopes.advertised }),
    ...(name !== undefined && { resource_name: name }),
    ...(documentation !== undefined && { resource_documentation: documentation.href }),
  });
  const refused = (why: Reason, needed: Iterable<string> = scopes.required): Response =>
    challenge({ ...why, scopes: needed, metadataUrl: metadata.url });

  async function authenticate(request: Request): Promise<Identity | Response> {
    const bearer = readBearer(request);
    if (bearer.token === undefined) return refused(withoutToken[bearer.instead]);
    const token = await verifier.verifyAccessToken(bearer.token);
    if (!hasAll(token.scopes, scopes.required)) return refused(scopeMissing);
    // The SDK's own challenges, for tools that an author guards by himself, point to the same document.
    return {
      principal: principal(token),
      authInfo: { ...token, resourceMetadataUrl: metadata.url },
      claims: claimsOf(token, claims),
      ...(credentials !== undefined && { credentials: credentials(token) }),
      access: {
        scopes: token.scopes,
        neededFor: (tool) => scopes.ofTool(tool),
        scopedTools: scopes.scopedTools,
      },
    };
  }

  return {
    document: (request) => metadata.answer(request),
    async authenticate(request, onError: OnError) {
      try {
        return await authenticate(request);
      } catch (error) {
        if (error instanceof OAuthError && error.code === OAuthErrorCode.InvalidToken) {
          return refused({ error: "invalid_token", message: error.message });
        }
        if (!isUnavailable(error)) throw error;
        if (!isUndecided(error)) onError(error); // the operator needs to know; the client only tries again
        return refuse(503, "Tokens cannot be verified at the moment.", { "Retry-After": "5" }, -32000);
      }
    },
    needed: (body, isPollingTool) => scopes.neededFor(body, isPollingTool),
    refusal: ({ authInfo }, needed) =>
      hasAll(authInfo?.scopes ?? [], needed) ? undefined : refused(scopeMissing, needed),
  };
}

function hasAll(given: readonly string[], needed: Iterable<string>): boolean {
  const held = new Set(given);
  return [...needed].every((scope) => held.has(scope));
}

function claimsOf(
  { issuer, subject, extra = {} }: AccessToken,
  names: readonly string[],
): Record<string, unknown> {
  const chosen = names
    .filter((name) => extra[name] !== undefined)
    .map((name) => [name, extra[name]] as const);
  return { ...Object.fromEntries(chosen), iss: issuer, ...(subject !== undefined && { sub: subject }) };
}

/** Two issuers may each have an `alice`, and names may contain any character: hence a list, as JSON. */
function issuerAndSubject({ issuer, subject }: AccessToken): string {
  if (subject === undefined) throw invalidToken("The token has no subject");
  return JSON.stringify([issuer, subject]);
}

function assertNamed(resource: URL, authorizationServers: readonly string[]): void {
  if (!/^https?:$/.test(resource.protocol) || resource.href.includes("#")) {
    throw new HoldfastError("configuration", "resource must be an http: or https: URL without a fragment.");
  }
  if (authorizationServers.length > 0 && authorizationServers.every((issuer) => URL.canParse(issuer))) return;
  throw new HoldfastError(
    "configuration",
    "authorizationServers must list the URL of at least one authorization server.",
  );
}

/** The bearer token of a request, or what there is instead of one. */
export type Bearer = { readonly token: string } | { readonly token?: never; readonly instead: Tokenless };

export type Tokenless = "none" | "malformed" | "in_query";

/** The one form of RFC 6750; several headers come joined by commas and are none of it. */
const form = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Longer than any that fits into the headers that Node takes. */
const longest = 16 * 1024;

/** Reads the header only: a token in the URL is in logs and histories by then, and is refused. */
export function readBearer({ headers, url }: Request): Bearer {
  if (new URL(url).searchParams.has("access_token")) return { instead: "in_query" };
  const header = headers.get("authorization") ?? "";
  if (!/^Bearer(?: |$)/i.test(header)) return { instead: "none" };
  const [, token] = header.length > longest ? [] : (form.exec(header) ?? []);
  return token === undefined ? { instead: "malformed" } : { token };
}

export interface Challenge {
  /** Left out if the request had no token (RFC 6750, 3.1). */
  readonly error?: "invalid_request" | "invalid_token" | "insufficient_scope";
  readonly message: string;
  /** All scopes that the request needs. */
  readonly scopes: Iterable<string>;
  /** Where the client finds the authorization servers (RFC 9728). */
  readonly metadataUrl: string;
}

const statuses = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 };

/** The refusal that tells a client how to get a valid token. */
export function challenge({ error, message, scopes, metadataUrl }: Challenge): Response {
  const parameters = Object.entries({
    error,
    error_description: error === undefined ? undefined : message,
    scope: [...new Set(scopes)].join(" ") || undefined,
    resource_metadata: metadataUrl,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]));
  return refuse(error === undefined ? 401 : statuses[error], `${message}.`, {
    "WWW-Authenticate": `Bearer ${parameters.join(", ")}`,
  });
}

/** An author's own verifier may have returned any text. */
function quotable(value: string): string {
  return value.replaceAll(/[^\x20-\x7E]/g, " ").replaceAll(/[\\"]/g, String.raw`\$&`);
}

const root = "/.well-known/oauth-protected-resource";

const methods = "GET, HEAD, OPTIONS";

/** The public document that names the authorization servers for `resource` (RFC 9728). */
export class Metadata {
  /** Its URL for clients. */
  readonly url: string;
  readonly #paths: ReadonlySet<string>;
  readonly #document: object;

  constructor(resource: URL, document: object) {
    this.url = getOAuthProtectedResourceMetadataUrl(resource);
    // Clients without the URL try the path of the resource first, and then the root.
    this.#paths = new Set([root, new URL(this.url).pathname]);
    this.#document = { resource: resource.href, ...document };
  }

  /** The answer to a request for it, from any page; undefined for all other requests. */
  answer({ method, url, headers }: Request): Response | undefined {
    if (!this.#paths.has(new URL(url).pathname.replace(/(?<=.)\/$/, ""))) return undefined;
    const cors = { "Access-Control-Allow-Origin": "*" };
    if (method === "GET" || method === "HEAD") {
      const response = Response.json(this.#document, {
        headers: { ...cors, "Cache-Control": "max-age=300" },
      });
      return method === "GET" ? response : new Response(null, response);
    }
    if (method !== "OPTIONS") return refuse(405, "Method not allowed.", { ...cors, Allow: methods });
    return new Response(null, {
      status: 204,
      headers: {
        ...cors,
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": headers.get("access-control-request-headers") ?? "*",
        Vary: "Access-Control-Request-Headers",
      },
    });
  }
}
