import {
  assertSecureTokenEndpoint,
  auth,
  type AuthOptions,
  type FetchLike,
  OAuthError,
  selectClientAuthMethod,
  validateAuthorizationResponseIssuer,
  fetchToken,
  registerClient,
  type OAuthTokens,
  type StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import { type Login, loginName, type LoginStore } from "./login.ts";
import {
  assertClient,
  type Authority,
  configuredClient,
  defaultClientName,
  findAuthority,
  loginAuthority,
  loginClient,
  LoginFlow,
  type LogInOptions,
  type LoginRun,
  resourceOf,
  scopeFor,
  endpointOf,
  type LoginAddress,
} from "./login-run.ts";
import { authFailure, clientInformation, clientToken, withTokens, isOutage } from "./tokens.ts";
import { base64url } from "../../generation/base64.ts";
import { TaskClientError } from "../task-client-error.ts";
import { unlessAborted } from "../background-work.ts";
import { Loopback } from "./loopback.ts";
import { millisecondsOf } from "../../task/time.ts";
import { type ClientClock, systemClock } from "../clock.ts";
import { oauthFetch } from "./fetch-with-auth.ts";
import { isJsonObject } from "../../generation/message.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";
/** The seconds between two requests if the server names none, and how many to add each time it asks for more (RFC 8628, 3.5). */
const pauseSeconds = 5;

/** Logs in from any other device: the user enters a code on a page while this program polls (RFC 8628). */
async function deviceLogin(run: LoginRun): Promise<Login> {
  const { authority, options, server, clock } = run;
  const { onAddress } = options;
  if (onAddress === undefined)
    throw new RangeError("logIn needs onAddress, to show the user where to log in.");
  try {
    const client = await clientFor(run);
    const flow = new LoginFlow({ ...flowOptions(run), clientInformation: client });
    const resource = await resourceOf(server, flow, authority.info);
    const scope = scopeFor(options.scope, authority);
    const device = await askForCode(run, client, { scope, resource });
    await onAddress(device.address);
    const tokens = await untilLoggedIn(run, client, { ...device, resource });
    const grant = "device_code";
    const known = { ...loginAuthority(authority), client: loginClient(client), grant } as const;
    return withTokens(known, { scope, ...tokens }, clock.now());
  } catch (cause) {
    throw authFailure("The login failed", cause);
  }
}

/** Identified by its metadata document if the server supports that, otherwise registered. */
async function clientFor(run: LoginRun): Promise<StoredOAuthClientInformation> {
  const { authority, options, fetch: fetchIt } = run;
  assertClient(options, authority);
  const configured = configuredClient(options, authority);
  if (configured !== undefined) return configured;
  const { clientMetadataUrl } = options;
  const { issuer, info } = authority;
  const metadata = info.authorizationServerMetadata;
  const takesUrls = metadata?.["client_id_metadata_document_supported"] === true;
  if (clientMetadataUrl !== undefined && takesUrls) return { client_id: clientMetadataUrl, issuer };
  const { clientMetadata } = new LoginFlow(flowOptions(run));
  const more = metadata === undefined ? {} : { metadata };
  return { ...(await registerClient(issuer, { clientMetadata, fetchFn: fetchIt, ...more })), issuer };
}

function flowOptions({ options: { clientName = defaultClientName } }: LoginRun): {
  readonly clientName: string;
  readonly grantType: string;
} {
  return { clientName, grantType };
}

interface Device {
  readonly code: string;
  readonly address: LoginAddress;
  readonly intervalSeconds: number;
}

interface Asked {
  readonly scope: string | undefined;
  readonly resource: string | undefined;
}

async function askForCode(
  { authority, fetch: fetchIt }: LoginRun,
  { client_id: id, client_secret: secret }: StoredOAuthClientInformation,
  asked: Asked,
): Promise<Device> {
  const endpoint = endpointOf(authority.info, "device_authorization_endpoint");
  if (endpoint === undefined)
    throw new TaskClientError("protocol", `${authority.issuer} does not support logging in with a code`);
  const given = { client_id: id, client_secret: secret, ...asked };
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) form.set(name, value);
  const response = await fetchIt(assertSecureTokenEndpoint(endpoint), {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: form,
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!isJsonObject(answer)) throw unreadable(authority.issuer, response.status);
  const { error, error_description: description } = answer;
  if (typeof error === "string")
    throw new OAuthError(error, typeof description === "string" ? description : error);
  return readDevice(answer) ?? raise(unreadable(authority.issuer, response.status));
}

function readDevice(answer: Readonly<Record<string, unknown>>): Device | undefined {
  const { device_code: code, user_code: userCode, interval } = answer;
  const complete = answer["verification_uri_complete"];
  const page = typeof complete === "string" ? complete : answer["verification_uri"];
  if (typeof code !== "string" || typeof userCode !== "string" || typeof page !== "string") return undefined;
  const url = URL.parse(page);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") return undefined;
  const intervalSeconds = typeof interval === "number" && interval > 0 ? interval : pauseSeconds;
  return { code, address: { url, code: userCode }, intervalSeconds };
}

async function untilLoggedIn(
  run: LoginRun,
  client: StoredOAuthClientInformation,
  { code, intervalSeconds, resource }: Device & Pick<Asked, "resource">,
): Promise<OAuthTokens> {
  const { authority, clock, signal, fetch: fetchIt } = run;
  const tokenRequest = (): URLSearchParams =>
    new URLSearchParams({ grant_type: grantType, device_code: code });
  const flow = new LoginFlow({ ...flowOptions(run), clientInformation: client, tokenRequest });
  const metadata = authority.info.authorizationServerMetadata;
  for (let seconds = intervalSeconds; ;) {
    await clock.sleep(seconds * 1000, signal);
    try {
      return await fetchToken(flow, authority.issuer, {
        fetchFn: fetchIt,
        ...(metadata !== undefined && { metadata }),
        ...(resource !== undefined && { resource }),
      });
    } catch (error) {
      const reason = error instanceof OAuthError ? error.code : undefined;
      // Retry too if the request was lost, or the server could not answer it now (RFC 8628, 3.5).
      const isLost = (!(error instanceof OAuthError) || isOutage(error)) && !signal.aborted;
      if (reason === "slow_down") seconds += pauseSeconds;
      else if (reason === "expired_token")
        throw new TaskClientError("timeout", "The code was not entered in time");
      else if (reason !== "authorization_pending" && !isLost) throw error;
    }
  }
}

function unreadable(issuer: string, status: number): TaskClientError {
  return new TaskClientError("protocol", `${issuer} answered HTTP ${status} when asked for a code`);
}

function raise(error: Error): never {
  throw error;
}

/** Logs in as the program itself (client credentials). */
async function clientLogin({ server, options, authority, fetch, clock }: LoginRun): Promise<Login> {
  const { client, clientName = defaultClientName } = options;
  if (client?.secret === undefined)
    throw new RangeError('logIn with flow "client" needs a client with a secret.');
  const grant = "client_credentials";
  const scope = scopeFor(options.scope, authority);
  try {
    const flow = new LoginFlow({
      clientName,
      grantType: grant,
      clientInformation: configuredClient(options, authority),
    });
    await resourceOf(server, flow, authority.info);
    const known = { ...loginAuthority(authority), client, grant } as const;
    const tokens = await clientToken(known, scope, { fetch, now: clock.now() });
    return withTokens(known, { scope, ...tokens }, clock.now());
  } catch (cause) {
    throw authFailure("The login failed", cause);
  }
}

/** Logs in with a browser on this machine, which delivers the answer to a local port (authorization code, PKCE). */
async function browserLogin(run: LoginRun): Promise<Login> {
  const { server, options, authority, clock, signal, fetch: fetchIt } = run;
  const { onAddress, clientName = defaultClientName, clientMetadataUrl } = options;
  if (onAddress === undefined)
    throw new RangeError("logIn needs onAddress, to show the user where to log in.");
  assertClient(options, authority);
  const state = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const loopback = await Loopback.open(state);
  try {
    const flow = new LoginFlow({
      clientName,
      clientInformation: configuredClient(options, authority),
      clientMetadataUrl,
      grantType: "authorization_code",
      redirectUrl: loopback.redirectUrl,
      state,
    });
    flow.saveDiscoveryState(authority.info);
    const scope = scopeFor(options.scope, authority);
    const asked: AuthOptions = { serverUrl: server, fetchFn: fetchIt, ...(scope !== undefined && { scope }) };
    await auth(flow, asked);
    await onAddress({ url: visitable(flow.address) });
    const answer = await unlessAborted(loopback.answered, signal);
    await auth(flow, { ...asked, ...codeIn(answer, authority) });
    const [tokens, client] = [flow.tokens(), flow.clientInformation()];
    if (tokens === undefined || client === undefined)
      throw new TypeError("The authorization server returned no token");
    const grant = "authorization_code";
    const known = { ...loginAuthority(authority), client: loginClient(client), grant } as const;
    return withTokens(known, { scope, ...tokens }, clock.now());
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw authFailure("The login failed", cause);
  } finally {
    loopback.close();
  }
}

/** The address comes from the server: a browser may open only web pages. */
function visitable(url: URL | undefined): URL {
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new TaskClientError("protocol", "The authorization server did not give a valid login page");
}

function codeIn(
  answer: URLSearchParams,
  { info: { authorizationServerMetadata: metadata } }: Authority,
): { readonly authorizationCode: string; readonly iss?: string } {
  const iss = answer.get("iss") ?? undefined;
  const code = answer.get("code");
  if (code !== null) return { authorizationCode: code, ...(iss !== undefined && { iss }) };
  // Only then is the answer known to come from the right issuer (RFC 9207).
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  });
  const error = answer.get("error") ?? "no code";
  throw new OAuthError(error, answer.get("error_description") ?? error);
}

const waysToLogIn = { browser: browserLogin, device: deviceLogin, client: clientLogin };

/**
 * Logs in to an MCP server by OAuth 2.1, and stores the login. Rejects with a `TaskClientError`: `unauthorized` if the login was refused,
 * `protocol` if the server requires none, `connection` if a server could not be reached, and `timeout`.
 *
 * ```ts
 * const store = fileLogins("logins");
 * await logIn(url, { store, onAddress: (address) => console.log(`Log in at ${address.url.href}`) });
 * const client = await connect(url, { auth: store });
 * ```
 */
export async function logIn(server: string | URL, options: LogInOptions): Promise<Login> {
  return logInBy(systemClock, new URL(server), options);
}

/** `logIn` with a given clock. */
export async function logInBy(clock: ClientClock, server: URL, options: LogInOptions): Promise<Login> {
  const { store, flow = "browser", timeoutMs = 600_000 } = options;
  const deadline = clock.deadline(millisecondsOf(timeoutMs));
  const signal = AbortSignal.any([deadline.signal, ...(options.signal ? [options.signal] : [])]);
  const fetchIt = oauthFetch(options, clock, signal);
  try {
    const authority = await findAuthority(server, fetchIt);
    assertIssuer(authority.issuer, options.issuer);
    const login = await waysToLogIn[flow]({ server, options, authority, fetch: fetchIt, clock, signal });
    await store.exclusively(loginName(server), async () => store.save(loginName(server), login));
    return login;
  } catch (error) {
    options.signal?.throwIfAborted();
    if (deadline.signal.aborted) throw new TaskClientError("timeout", "The login was not completed in time");
    throw error;
  } finally {
    deadline.clear();
  }
}

function assertIssuer(found: string, wanted: string | undefined): void {
  const same = wanted === undefined || found.replace(/\/$/, "") === wanted.replace(/\/$/, "");
  if (!same)
    throw new TaskClientError("unauthorized", `The server requires a login at ${found}, not at ${wanted}`);
}

/** Options of `logOut`. */
export interface LogOutOptions {
  readonly store: LoginStore;
  /** Sends the HTTP requests. Default: the global `fetch`. */
  readonly fetch?: FetchLike;
  /** As in `logIn`. */
  readonly addresses?: "any" | "public";
  readonly signal?: AbortSignal;
}

/**
 * What happened to a login. `none`: there was none. `revoked`: its tokens are no longer valid. `deleted`: it is deleted here, but its
 * tokens stay valid until they expire, because the authorization server does not support revocation or did not answer.
 */
export type LogOutResult = "none" | "revoked" | "deleted";

/** Revokes a login (RFC 7009), and always deletes it from the store. */
export async function logOut(server: string | URL, options: LogOutOptions): Promise<LogOutResult> {
  const { store, signal } = options;
  const name = loginName(new URL(server));
  const fetchIt = oauthFetch(options, systemClock, signal);
  return store.exclusively(name, async () => {
    // Log out even if the login cannot be read or the server does not answer.
    const login = await store.load(name).catch(() => null);
    await store.delete(name);
    if (login === undefined) return "none";
    if (login === null) return "deleted";
    return (await revoke(login, fetchIt).catch(() => false)) ? "revoked" : "deleted";
  });
}

/** The refresh token first: most servers revoke its access tokens with it. */
async function revoke(login: Login, fetchIt: FetchLike): Promise<boolean> {
  const { revocationEndpoint, refreshToken, accessToken } = login;
  if (revocationEndpoint === undefined) return false;
  const tokens = [
    ...(refreshToken === undefined ? [] : [["refresh_token", refreshToken] as const]),
    ["access_token", accessToken] as const,
  ];
  let revoked = true;
  for (const [hint, token] of tokens) {
    const response = await fetchIt(assertSecureTokenEndpoint(revocationEndpoint), {
      method: "POST",
      redirect: "manual",
      ...authenticated(login, new URLSearchParams({ token, token_type_hint: hint })),
    });
    revoked &&= response.ok;
  }
  return revoked;
}

/** The client authenticates as for token requests. */
function authenticated(login: Login, form: URLSearchParams): Pick<RequestInit, "headers" | "body"> {
  const { id, secret = "" } = login.client;
  const method = selectClientAuthMethod(clientInformation(login), [...(login.authMethods ?? [])]);
  const type = { "content-type": "application/x-www-form-urlencoded" };
  if (method === "client_secret_basic") {
    const credentials = btoa(String.fromCodePoint(...new TextEncoder().encode(`${id}:${secret}`)));
    return { headers: { ...type, authorization: `Basic ${credentials}` }, body: form };
  }
  form.set("client_id", id);
  if (method === "client_secret_post") form.set("client_secret", secret);
  return { headers: type, body: form };
}
