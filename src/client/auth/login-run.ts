import type { TimeSpan } from "../../task/time.ts";
import type { FetchLike } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import type { Authority } from "./find-authorization-server.ts";
import type { LoginStore } from "./login.ts";

/** Where a user logs in. */
export interface LoginAddress {
  readonly url: URL;
  /** The code to enter there, with `flow: "device"`. */
  readonly code?: string | undefined;
}

/** Options of `logIn`. */
export interface LogInOptions {
  /** Where the login is stored, for `auth` of `connect`. */
  readonly store: LoginStore;
  /**
   * `browser`: the user logs in with a browser on this machine. `device`: on any device, with a code, if the authorization server supports
   * that (RFC 8628). `client`: without a user, for the program itself, with `client`. Default `browser`.
   */
  readonly flow?: "browser" | "device" | "client";
  /** Called with the address where the user logs in: show it to the user, and open it. Not called with `flow: "client"`. */
  readonly onAddress?: (address: LoginAddress) => unknown;
  /**
   * The client's id at the authorization server, and its secret if it has one. Default: `clientMetadataUrl` if the authorization server
   * accepts that, otherwise an id that is registered for this login.
   */
  readonly client?: { readonly id: string; readonly secret?: string | undefined };
  /** The `https` URL of a client id metadata document that describes this client. */
  readonly clientMetadataUrl?: string;
  /** The client's display name. Default: holdfast. */
  readonly clientName?: string;
  /** The scopes to request, separated by spaces. Default: those that the server names. */
  readonly scope?: string;
  /** The only issuer to accept. Default: the one that the server names. */
  readonly issuer?: string;
  /** Sends the HTTP requests. Default: the global `fetch`. */
  readonly fetch?: FetchLike;
  /**
   * Which addresses the login may use. Servers name the metadata to read and the authorization server, so a program that connects to
   * servers of others, such as a hosted platform, sets `public`: only the public internet is reached, checked on the address that is
   * connected to, without proxies and without `fetch`; any other address rejects with `unauthorized`. Default `any`.
   */
  readonly addresses?: "any" | "public";
  readonly signal?: AbortSignal;
  /** How long to wait for the user, in milliseconds or such as `"5m"`. Default 10 minutes. */
  readonly timeoutMs?: TimeSpan;
}

/** What all login flows share. */
export interface LoginRun {
  readonly server: URL;
  readonly options: LogInOptions;
  readonly authority: Authority;
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
  /** Aborts when the time limit has passed or the caller stops waiting. */
  readonly signal: AbortSignal;
}
