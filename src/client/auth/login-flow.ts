import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

interface LoginFlowOptions {
  readonly clientName: string;
  readonly clientInformation?: StoredOAuthClientInformation | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly grantType: string;
  /** The browser's redirect URI; undefined without a browser. */
  readonly redirectUrl?: URL;
  readonly state?: string;
  /** The parameters of a token request without an authorization code. */
  readonly tokenRequest?: () => URLSearchParams;
}

/** One login in progress, as a provider for the SDK's client authentication. It keeps everything in memory. */
export class LoginFlow implements OAuthClientProvider {
  readonly redirectUrl: URL | undefined;
  readonly clientMetadata: OAuthClientMetadata;
  /** The address where the user logs in, once it is known. */
  address: URL | undefined;
  declare readonly clientMetadataUrl?: string;
  readonly #options: LoginFlowOptions;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;

  constructor(options: LoginFlowOptions) {
    const { clientName, grantType, redirectUrl, clientInformation, clientMetadataUrl } = options;
    this.#options = options;
    this.#client = clientInformation;
    this.redirectUrl = redirectUrl;
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = {
      client_name: clientName,
      redirect_uris: redirectUrl === undefined ? [] : [redirectUrl.href],
      grant_types: [grantType, "refresh_token"],
      ...(redirectUrl !== undefined && { response_types: ["code"] }),
      token_endpoint_auth_method: "none",
      application_type: "native",
    };
  }

  state(): string {
    return this.#options.state ?? "";
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
    this.address = address;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  prepareTokenRequest(): URLSearchParams | undefined {
    return this.#options.tokenRequest?.();
  }
}
