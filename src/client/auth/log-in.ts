import { millisecondsOf } from "../../task/time.ts";
import { systemClock, type ClientClock } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import { browserLogin } from "./browser-login.ts";
import { clientLogin } from "./client-login.ts";
import { deviceLogin } from "./device-login.ts";
import { findAuthority } from "./find-authorization-server.ts";
import { loginName, type Login } from "./login.ts";
import type { LogInOptions } from "./login-run.ts";
import { oauthFetch } from "./oauth-fetch.ts";

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
