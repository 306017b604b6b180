import type { FetchLike } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { Authority } from "./find-authorization-server.ts";
import type { LoginStore } from "./login.ts";

/** Where a user logs in. */
export interface LoginAddress {
  readonly url: URL;
  /** What he enters there, with `flow: "device"`. */
  readonly code?: string | undefined;
}

/** Options of `logIn`. */
export interface LogInOptions {
  /** Where the login is kept, for `auth` of `connect`. */
  readonly store: LoginStore;
  /**
   * `browser`: the user logs in in a browser of this machine. `device`: anywhere, with a code, if the authorization server
   * offers that (RFC 8628). `client`: no user does, and the token is for the program itself, by `client`. Default `browser`.
   */
  readonly flow?: "browser" | "device" | "client";
  /** Called with the address where the user logs in: show it to him, and open it. Not called with `flow: "client"`. */
  readonly onAddress?: (address: LoginAddress) => unknown;
  /**
   * The client's id at the authorization server, and its secret if it has one. Default: `clientMetadataUrl` where the
   * authorization server takes that, else an id that it registers for this login.
   */
  readonly client?: { readonly id: string; readonly secret?: string | undefined };
  /** The `https` URL of a client id metadata document that describes this client. */
  readonly clientMetadataUrl?: string;
  /** The client's name for people. Default: holdfast. */
  readonly clientName?: string;
  /** The scopes to ask for, with a space between. Default: those that the server names. */
  readonly scope?: string;
  /** The only issuer to log in at. Default: the one that the server names. */
  readonly issuer?: string;
  /** Sends the HTTP requests. Default: the global `fetch`. */
  readonly fetch?: FetchLike;
  readonly signal?: AbortSignal;
  /** How long to wait for the user, in milliseconds. Default 10 minutes. */
  readonly timeoutMs?: number;
}

/** What the ways to log in share. */
export interface LoginRun {
  readonly server: URL;
  readonly options: LogInOptions;
  readonly authority: Authority;
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
  /** Aborts when there is no more time, or nobody waits. */
  readonly signal: AbortSignal;
}
