import { InsufficientScopeError, type FetchLike } from "@modelcontextprotocol/client";
import type { ClientClock } from "../clock.ts";
import { TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";
import { authFailure, isEnded } from "./auth-failure.ts";
import { loginName, type Login, type LoginStore } from "./login.ts";
import { scopeUnion } from "./scopes.ts";
import { canRenew, renewed } from "./token-request.ts";
import type { Challenge, TokenSource } from "./token-source.ts";

/** A token is renewed this long before it expires, because the request takes time. */
const leewayMs = 10_000;

interface LoginTokensOptions {
  readonly store: LoginStore;
  readonly server: URL;
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
}

/** The tokens of a stored login. Without one, requests go without a token. */
export class LoginTokens implements TokenSource {
  readonly #options: LoginTokensOptions;
  readonly #name: string;
  readonly #renewing = new Map<Challenge["wants"], Promise<boolean>>();
  #login: Login | undefined;

  constructor(options: LoginTokensOptions) {
    this.#options = options;
    this.#name = loginName(options.server);
  }

  async token(): Promise<string | undefined> {
    const login = (this.#login ??= await this.#options.store.load(this.#name));
    if (login?.expiresAt === undefined || !canRenew(login)) return login?.accessToken;
    if (login.expiresAt <= this.#options.clock.now() + leewayMs) {
      await this.renew(login.accessToken, { wants: "token", scope: undefined, metadataUrl: undefined });
    }
    return this.#login?.accessToken;
  }

  async renew(refused: string | undefined, challenge: Challenge): Promise<boolean> {
    const { wants } = challenge;
    const renewing =
      this.#renewing.get(wants) ??
      this.#renew(refused, challenge).finally(() => this.#renewing.delete(wants));
    this.#renewing.set(wants, renewing);
    return renewing;
  }

  async #renew(refused: string | undefined, { wants, scope }: Challenge): Promise<boolean> {
    if (this.#login !== undefined && this.#login.accessToken !== refused) return true;
    const { store, fetch: fetchIt, clock, server } = this.#options;
    if ((await store.load(this.#name)) === undefined) return false;
    return store.exclusively(this.#name, async () => {
      // Another process may have renewed it meanwhile, or the user logged in again.
      const login = (this.#login = await store.load(this.#name));
      if (login === undefined) return false;
      if (login.accessToken !== refused) return true;
      if (wants === "scope" && login.grant !== "client_credentials") throw this.#lacks(login, scope);
      if (!canRenew(login)) return false;
      try {
        this.#login = await renewed(login, scope, { fetch: fetchIt, now: clock.now() });
      } catch (cause) {
        if (!isEnded(cause))
          throw authFailure(`The login to ${redacted(server.href)} could not be renewed`, cause);
        await store.delete(this.#name);
        this.#login = undefined;
        const message = `The login to ${redacted(server.href)} is no longer valid: ${login.issuer} rejected it`;
        throw new TaskClientError("unauthorized", message, { cause });
      }
      await store.save(this.#name, this.#login);
      return true;
    });
  }

  /** A refresh cannot add scopes (RFC 6749, 6): the user has to log in again, without losing the current scopes. */
  #lacks(login: Login, scope: string | undefined): TaskClientError {
    const requiredScope = scopeUnion(login.scope, scope) ?? "";
    const message = `The login to ${redacted(this.#options.server.href)} lacks a required scope: it needs ${JSON.stringify(requiredScope)}`;
    const cause = new InsufficientScopeError({ requiredScope });
    return new TaskClientError("unauthorized", message, { cause });
  }
}
