import {
  assertSecureTokenEndpoint,
  selectClientAuthMethod,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { systemClock } from "../clock.ts";
import { loginName, type Login, type LoginStore } from "./login.ts";
import { oauthFetch } from "./oauth-fetch.ts";
import { clientInformation } from "./token-request.ts";

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
    const credentials = Buffer.from(`${id}:${secret}`).toString("base64");
    return { headers: { ...type, authorization: `Basic ${credentials}` }, body: form };
  }
  form.set("client_id", id);
  if (method === "client_secret_post") form.set("client_secret", secret);
  return { headers: type, body: form };
}
