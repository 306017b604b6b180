/** A login to one server. Whoever has it can call the server as the user, so store it safely. */
export interface Login {
  /** The authorization server. */
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** The ways to authenticate there that the authorization server takes; undefined if it does not say. */
  readonly authMethods?: readonly string[] | undefined;
  /** Where tokens are revoked (RFC 7009), if anywhere. */
  readonly revocationEndpoint?: string | undefined;
  /** What tokens are asked for (RFC 8707). */
  readonly resource?: string | undefined;
  readonly client: LoginClient;
  /** How the first token was got. */
  readonly grant: Grant;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** The scopes of the token, as far as they are known. */
  readonly scope?: string | undefined;
  /** When the access token ends, in epoch milliseconds; undefined if the server did not say. */
  readonly expiresAt?: number | undefined;
}

/** How this client is known to the authorization server. */
export interface LoginClient {
  readonly id: string;
  readonly secret?: string | undefined;
  /** How it was registered to authenticate: `none`, `client_secret_basic` or `client_secret_post`. */
  readonly method?: string | undefined;
}

export const grants = ["authorization_code", "device_code", "client_credentials"] as const;

export type Grant = (typeof grants)[number];

/**
 * Where logins are kept, one for each server: `fileLogins(folder)`, `memoryLogins()`, or one of your own. `server` is what
 * `logIn` and `connect` make of a server's URL: its origin and path.
 */
export interface LoginStore {
  load(server: string): Promise<Login | undefined>;
  save(server: string, login: Login): Promise<void>;
  delete(server: string): Promise<void>;
  /**
   * Runs `work` while nothing else runs for this server, in this process and in others that share the store: most
   * refresh tokens can be used once.
   */
  exclusively<Value>(server: string, work: () => Promise<Value>): Promise<Value>;
}

/** The server's name in a store of logins. */
export function loginName(server: URL): string {
  return `${server.origin}${server.pathname}`;
}
