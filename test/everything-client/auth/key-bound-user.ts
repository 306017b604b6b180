import {
  auth,
  DpopSession,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "holdfast/client";
import { withHost } from "../host.ts";
import type { Run } from "../run.ts";
import { callEachTool } from "../tools.ts";

/** A user logs in, and the token is bound to a key of this client (DPoP, SEP-1932): it is of no use to a thief. */
export async function asKeyBoundUser(run: Run): Promise<void> {
  const provider = new KeyBoundProvider();
  const use = (): Promise<void> => withHost(run, callEachTool, { auth: provider });
  try {
    await use();
  } catch (error) {
    if (!(error instanceof TaskClientError && error.code === "unauthorized")) throw error;
    await auth(provider, { serverUrl: run.url, ...(await provider.answer()) });
    await use();
  }
}

/** One login in progress, as a provider of the SDK: `logIn` has no tokens that are bound to keys. */
class KeyBoundProvider implements OAuthClientProvider {
  readonly redirectUrl = "http://127.0.0.1:3000/callback";
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: "everything-client",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
    application_type: "native",
  };
  readonly #session = DpopSession.create();
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = "";
  #address: URL | undefined;

  /** What the authorization server tells the browser, whose redirect is read here and not followed. */
  async answer(): Promise<{ authorizationCode: string; iss?: string }> {
    if (this.#address === undefined) throw new Error("The server has asked for no login");
    const page = await fetch(this.#address, { redirect: "manual" });
    const { searchParams } = new URL(page.headers.get("location") ?? "", this.redirectUrl);
    const [authorizationCode, iss] = [searchParams.get("code"), searchParams.get("iss")];
    if (authorizationCode === null) throw new Error(`The login was refused: ${searchParams.get("error")}`);
    return { authorizationCode, ...(iss !== null && { iss }) };
  }

  dpop(): Promise<DpopSession> {
    return this.#session;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(address: URL): void {
    this.#address = address;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }
}
