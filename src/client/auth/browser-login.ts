import {
  auth,
  OAuthError,
  validateAuthorizationResponseIssuer,
  type AuthOptions,
} from "@modelcontextprotocol/client";
import { base64url } from "../../generation/base64.ts";
import { TaskClientError } from "../task-client-error.ts";
import { unlessAborted } from "../unless-aborted.ts";
import { authFailure } from "./auth-failure.ts";
import { scopeFor, type Authority } from "./find-authorization-server.ts";
import type { LoginRun } from "./login-run.ts";
import type { Login } from "./login.ts";
import {
  assertClient,
  configuredClient,
  defaultClientName,
  loginAuthority,
  loginClient,
} from "./login-client.ts";
import { LoginFlow } from "./login-flow.ts";
import { Loopback } from "./loopback.ts";
import { withTokens } from "./token-request.ts";

/** Logs in with a browser on this machine, which delivers the answer to a local port (authorization code, PKCE). */
export async function browserLogin(run: LoginRun): Promise<Login> {
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
