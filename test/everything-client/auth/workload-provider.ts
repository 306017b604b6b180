import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Exchanges a token of the machine's own for one of the server (RFC 7523). A provider as `auth` of `connect` takes it. */
export class WorkloadProvider implements OAuthClientProvider {
  readonly redirectUrl = undefined;
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: "everything-client",
    redirect_uris: [],
    grant_types: [grant],
    token_endpoint_auth_method: "none",
  };
  readonly #clientId: string;
  readonly #assertion: string;
  readonly #issuer: string;
  #tokens: StoredOAuthTokens | undefined;

  constructor(clientId: string, assertion: string, issuer: string) {
    this.#clientId = clientId;
    this.#assertion = assertion;
    this.#issuer = issuer;
  }

  clientInformation(): StoredOAuthClientInformation {
    return { client_id: this.#clientId, issuer: this.#issuer };
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    const request = new URLSearchParams({ grant_type: grant, assertion: this.#assertion });
    if (scope !== undefined) request.set("scope", scope);
    return request;
  }

  redirectToAuthorization(): never {
    throw new Error("A workload has no user who could log in");
  }

  saveCodeVerifier(): void {}

  codeVerifier(): never {
    throw new Error("A workload asks for no code");
  }
}
