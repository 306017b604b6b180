/** A login to one server. Anyone who has it can call the server as the user, so store it safely. */
export interface Login {
  /** The authorization server. */
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** The authentication methods that the authorization server accepts; undefined if it does not say. */
  readonly authMethods?: readonly string[] | undefined;
  /** Where to revoke tokens (RFC 7009), if supported. */
  readonly revocationEndpoint?: string | undefined;
  /** The resource to request tokens for (RFC 8707). */
  readonly resource?: string | undefined;
  readonly client: LoginClient;
  /** How the first token was obtained. */
  readonly grant: Grant;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** The scopes of the token, if known. */
  readonly scope?: string | undefined;
  /** When the access token expires, in epoch milliseconds; undefined if the server did not say. */
  readonly expiresAt?: number | undefined;
}

/** This client's registration at the authorization server. */
export interface LoginClient {
  readonly id: string;
  readonly secret?: string | undefined;
  /** Its registered authentication method: `none`, `client_secret_basic` or `client_secret_post`. */
  readonly method?: string | undefined;
}

export const grants = ["authorization_code", "device_code", "client_credentials"] as const;

/** How a login was granted: by a user, by a code on another device, or to a program of its own. */
export type Grant = (typeof grants)[number];

/**
 * Stores one login for each server: `fileLogins(folder)`, `memoryLogins()`, or your own. `server` is the origin and path of the server's
 * URL.
 */
export interface LoginStore {
  load(server: string): Promise<Login | undefined>;
  save(server: string, login: Login): Promise<void>;
  delete(server: string): Promise<void>;
  /**
   * Runs `work` while nothing else runs for this server, in this process and others that share the store: most refresh tokens can be used
   * only once.
   */
  exclusively<Value>(server: string, work: () => Promise<Value>): Promise<Value>;
}

/** The server's name in a store of logins. */
export function loginName(server: URL): string {
  return `${server.origin}${server.pathname}`;
}

/** Logins in memory: for tests, and for programs that log in each time. */
export function memoryLogins(): LoginStore {
  const logins = new Map<string, Login>();
  const turns = new Map<string, Promise<unknown>>();
  return {
    load: async (server) => logins.get(server),
    save: async (server, login) => void logins.set(server, login),
    delete: async (server) => void logins.delete(server),
    exclusively: async (server, work) => {
      const turn = (turns.get(server) ?? Promise.resolve()).then(work, work);
      turns.set(server, turn);
      return turn;
    },
  };
}
