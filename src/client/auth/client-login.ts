import { authFailure } from "./auth-failure.ts";
import { resourceOf, scopeFor } from "./find-authorization-server.ts";
import type { LoginRun } from "./login-run.ts";
import type { Login } from "./login.ts";
import { configuredClient, defaultClientName, loginAuthority } from "./login-client.ts";
import { LoginFlow } from "./login-flow.ts";
import { clientToken, withTokens } from "./token-request.ts";

/** Logs in as the program itself (client credentials). */
export async function clientLogin({ server, options, authority, fetch, clock }: LoginRun): Promise<Login> {
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
