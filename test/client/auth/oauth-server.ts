import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { AccessToken, TokenVerifier } from "holdfast/auth";
import { OAuthError } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";

interface Client {
  readonly id: string;
  readonly secret?: string;
  readonly redirectUris: readonly string[];
}

interface Grant {
  readonly clientId: string;
  readonly subject: string;
  scope: string;
  readonly resource: string;
  /** All tokens that came of it are gone. */
  isRevoked: boolean;
}

interface Code {
  readonly grant: Grant;
  readonly challenge: string;
  readonly redirectUri: string;
}

interface Device {
  readonly grant: Grant;
  readonly userCode: string;
  state: "pending" | "approved" | "denied";
}

/** What the authorization server offers, all of it by default. */
export interface Offers {
  readonly registration?: boolean;
  readonly metadataDocuments?: boolean;
  readonly device?: boolean;
  readonly revocation?: boolean;
  readonly issuerInAnswers?: boolean;
  /** Seconds that an access token lasts. */
  readonly lifetime?: number;
}

/**
 * An authorization server that keeps to OAuth 2.1: codes are used once and with PKCE, refresh tokens rotate, and one that is
 * used twice ends its grant.
 */
export class OAuthServer implements TokenVerifier {
  issuer = "";
  /** Requests by path, in order. */
  readonly asked: {
    readonly path: string;
    readonly form: URLSearchParams;
    readonly authorization?: string;
  }[] = [];
  readonly clients = new Map<string, Client>();
  /** What the next page of the login does. */
  decides: "allows" | "denies" = "allows";
  /** Who logs in. */
  user = "ann";
  /** What the endpoint of tokens does instead of answering. */
  instead: ((response: ServerResponse) => void) | undefined;
  readonly #offers: Offers;
  readonly #codes = new Map<string, Code>();
  readonly #devices = new Map<string, Device>();
  readonly #access = new Map<string, { readonly grant: Grant; readonly scope: string; expired: boolean }>();
  readonly #refresh = new Map<string, { readonly grant: Grant; used: boolean }>();

  private constructor(offers: Offers) {
    this.#offers = offers;
  }

  static async start(offers: Offers = {}): Promise<OAuthServer> {
    const server = new OAuthServer(offers);
    const node = createServer((request, response) => {
      server.#answer(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    server.issuer = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    onTestFinished(() => {
      node.close();
      node.closeAllConnections();
    });
    return server;
  }

  /** How often `path` was asked. */
  times(path: string): number {
    return this.asked.filter((request) => request.path === path).length;
  }

  last(path: string): URLSearchParams {
    return this.asked.findLast((request) => request.path === path)?.form ?? new URLSearchParams();
  }

  /** All access tokens so far are refused from now on. */
  expireAll(): void {
    for (const token of this.#access.values()) token.expired = true;
  }

  /** All grants end: their refresh tokens are refused too. */
  revokeAll(): void {
    for (const { grant } of [...this.#access.values(), ...this.#refresh.values()]) grant.isRevoked = true;
  }

  /** What the user does with his code on his other device. */
  decideOn(userCode: string, state: "approved" | "denied"): void {
    for (const device of this.#devices.values()) if (device.userCode === userCode) device.state = state;
  }

  async verifyAccessToken(token: string): Promise<AccessToken> {
    const known = this.#access.get(token);
    if (known === undefined || known.expired || known.grant.isRevoked)
      throw new OAuthError("invalid_token", "The token is not good");
    const { clientId, subject } = known.grant;
    const scopes = known.scope.split(" ").filter((scope) => scope !== "");
    const expiresAt = Math.floor(Date.now() / 1000) + 3600;
    return { token, clientId, scopes, issuer: this.issuer, subject, expiresAt };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.issuer);
    const body = await text(request);
    const form = request.method === "GET" ? url.searchParams : new URLSearchParams(body);
    const { authorization } = request.headers;
    this.asked.push({ path: url.pathname, form, ...(authorization !== undefined && { authorization }) });
    const send = (status: number, document: object): void => {
      response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
      response.end(JSON.stringify(document));
    };
    try {
      if (url.pathname === "/.well-known/oauth-authorization-server") send(200, this.#metadata());
      else if (url.pathname === "/register") send(201, this.#register(body));
      else if (url.pathname === "/authorize") this.#authorize(form, response);
      else if (url.pathname === "/introspect") send(200, this.#introspect(form, authorization));
      else if (url.pathname === "/device") send(200, this.#startDevice(form));
      else if (url.pathname === "/revoke") send(200, this.#revoke(form, this.#clientOf(form, authorization)));
      else if (url.pathname !== "/token") send(404, {});
      else if (this.instead !== undefined) this.instead(response);
      else send(200, this.#token(form, this.#clientOf(form, authorization)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(error.code === "invalid_client" ? 401 : 400, {
        error: error.code,
        error_description: error.message,
      });
    }
  }

  #metadata(): object {
    const { registration, metadataDocuments, device, revocation, issuerInAnswers } = this.#offers;
    const at = (path: string): string => `${this.issuer}${path}`;
    return {
      issuer: this.issuer,
      authorization_endpoint: at("/authorize"),
      token_endpoint: at("/token"),
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
      ...(registration !== false && { registration_endpoint: at("/register") }),
      ...(metadataDocuments !== false && { client_id_metadata_document_supported: true }),
      ...(device !== false && { device_authorization_endpoint: at("/device") }),
      ...(revocation !== false && { revocation_endpoint: at("/revoke") }),
      ...(issuerInAnswers !== false && { authorization_response_iss_parameter_supported: true }),
    };
  }

  #register(body: string): object {
    const asked = JSON.parse(body) as { redirect_uris: string[] };
    const client = { id: `client-${randomUUID()}`, redirectUris: asked.redirect_uris };
    this.clients.set(client.id, client);
    return { ...asked, client_id: client.id };
  }

  #client(id: string | null): Client {
    const known = this.clients.get(id ?? "");
    if (known !== undefined) return known;
    // Its document would name the loopback, on whichever port (RFC 8252, 7.3).
    if (id?.startsWith("https://") === true && this.#offers.metadataDocuments !== false)
      return { id, redirectUris: [] };
    throw new Refusal("invalid_client", "There is no such client");
  }

  #clientOf(form: URLSearchParams, authorization: string | undefined): Client {
    const [, basic = ""] = /^Basic (.*)$/.exec(authorization ?? "") ?? [];
    const [id, secret] = authorization === undefined ? [form.get("client_id")] : atob(basic).split(":");
    const client = this.#client(id ?? null);
    if (client.secret !== secret) throw new Refusal("invalid_client", "The secret is wrong");
    return client;
  }

  #authorize(form: URLSearchParams, response: ServerResponse): void {
    const client = this.#client(form.get("client_id"));
    const redirectUri = form.get("redirect_uri") ?? "";
    const isKnown = client.redirectUris.includes(redirectUri) || redirectUri.startsWith("http://127.0.0.1:");
    if (!isKnown || form.get("code_challenge_method") !== "S256" || form.get("resource") === null)
      throw new Refusal("invalid_request", "The request is not as OAuth 2.1 has it");
    const back = new URL(redirectUri);
    back.searchParams.set("state", form.get("state") ?? "");
    if (this.#offers.issuerInAnswers !== false) back.searchParams.set("iss", this.issuer);
    if (this.decides === "denies") {
      back.searchParams.set("error", "access_denied");
      back.searchParams.set("error_description", "The user said no");
    } else {
      const code = randomUUID();
      const challenge = form.get("code_challenge") ?? "";
      this.#codes.set(code, { grant: grantOf(client, form, this.user), challenge, redirectUri });
      back.searchParams.set("code", code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  #startDevice(form: URLSearchParams): object {
    const client = this.#client(form.get("client_id"));
    const [code, userCode] = [randomUUID(), randomUUID().slice(0, 8).toUpperCase()];
    this.#devices.set(code, { grant: grantOf(client, form, this.user), userCode, state: "pending" });
    return {
      device_code: code,
      user_code: userCode,
      verification_uri: `${this.issuer}/enter`,
      expires_in: 600,
      interval: 1,
    };
  }

  #token(form: URLSearchParams, client: Client): object {
    const type = form.get("grant_type");
    if (type === "client_credentials" && client.secret !== undefined)
      return this.#issue(grantOf(client, form, client.id), { refresh: false });
    if (type === "authorization_code") return this.#redeem(form, client);
    if (type === "refresh_token") return this.#rotate(form);
    if (type === "urn:ietf:params:oauth:grant-type:device_code") {
      const device = this.#devices.get(form.get("device_code") ?? "");
      if (device?.state === "approved") return this.#issue(device.grant, { refresh: true });
      throw new Refusal(device?.state === "denied" ? "access_denied" : "authorization_pending", "Not yet");
    }
    throw new Refusal("unsupported_grant_type", `There is no grant ${type}`);
  }

  #redeem(form: URLSearchParams, client: Client): object {
    const code = this.#codes.get(form.get("code") ?? "");
    this.#codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const fits =
      code?.challenge === challenge &&
      code.grant.clientId === client.id &&
      code.redirectUri === form.get("redirect_uri") &&
      code.grant.resource === form.get("resource");
    if (code === undefined || !fits) throw new Refusal("invalid_grant", "The code does not fit");
    return this.#issue(code.grant, { refresh: true });
  }

  #rotate(form: URLSearchParams): object {
    const token = this.#refresh.get(form.get("refresh_token") ?? "");
    if (token === undefined) throw new Refusal("invalid_grant", "There is no such token");
    if (token.used) token.grant.isRevoked = true;
    if (token.grant.isRevoked) throw new Refusal("invalid_grant", "The token was used before");
    token.used = true;
    return this.#issue(token.grant, { refresh: true });
  }

  #issue(grant: Grant, { refresh }: { readonly refresh: boolean }): object {
    const [access, again] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    this.#access.set(access, { grant, scope: grant.scope, expired: false });
    if (refresh) this.#refresh.set(again, { grant, used: false });
    return {
      access_token: access,
      token_type: "Bearer",
      expires_in: this.#offers.lifetime ?? 3600,
      scope: grant.scope,
      ...(refresh && { refresh_token: again }),
    };
  }

  /** Of a server that takes tokens, which is a client with a secret. */
  #introspect(form: URLSearchParams, authorization: string | undefined): object {
    if (this.#clientOf(form, authorization).secret === undefined)
      throw new Refusal("invalid_client", "Tokens are shown to servers only");
    const known = this.#access.get(form.get("token") ?? "");
    if (known === undefined || known.expired || known.grant.isRevoked) return { active: false };
    const { clientId, subject, resource } = known.grant;
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const iss = this.issuer;
    return { active: true, iss, sub: subject, aud: resource, client_id: clientId, scope: known.scope, exp };
  }

  #revoke(form: URLSearchParams, client: Client): object {
    const token = form.get("token") ?? "";
    const grant = this.#refresh.get(token)?.grant ?? this.#access.get(token)?.grant;
    if (grant?.clientId === client.id) grant.isRevoked = true;
    return {};
  }
}

class Refusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

function grantOf(client: Client, form: URLSearchParams, subject: string): Grant {
  const [scope, resource] = [form.get("scope") ?? "", form.get("resource") ?? ""];
  return { clientId: client.id, subject, scope, resource, isRevoked: false };
}
