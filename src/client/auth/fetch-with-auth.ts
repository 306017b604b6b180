import { withDpopFromProvider, type FetchLike, type OAuthClientProvider } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { authorizedFetch } from "./authorized-fetch.ts";
import type { LoginStore } from "./login.ts";
import { LoginTokens } from "./login-tokens.ts";
import { oauthFetch, type OAuthRequests } from "./oauth-fetch.ts";
import { ProviderTokens } from "./provider-tokens.ts";

interface FetchWithAuthOptions {
  readonly auth: OAuthClientProvider | LoginStore;
  readonly server: URL;
  /** Sends the requests to the server. */
  readonly fetch: FetchLike;
  /** How those to authorization servers are sent. */
  readonly requests: OAuthRequests;
  readonly clock: ClientClock;
}

/** A fetch whose requests to the server carry the tokens of the `auth` option. */
export function fetchWithAuth({
  auth,
  server,
  fetch: fetchIt,
  requests,
  clock,
}: FetchWithAuthOptions): FetchLike {
  const oauth = oauthFetch(requests, clock);
  if (!isProvider(auth)) {
    return authorizedFetch(fetchIt, server, new LoginTokens({ store: auth, server, fetch: oauth, clock }));
  }
  const proven = auth.dpop === undefined ? fetchIt : withDpopFromProvider(auth)(fetchIt);
  return authorizedFetch(proven, server, new ProviderTokens(auth, server, oauth));
}

function isProvider(auth: OAuthClientProvider | LoginStore): auth is OAuthClientProvider {
  return "clientInformation" in auth;
}
