import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { onTestFinished } from "vitest";

/** What the next login is to be like. */
export interface NextLogin {
  readonly claims: Readonly<Record<string, unknown>>;
  /** Claims of the id token that are not as they should be. */
  readonly wrong?: Readonly<Record<string, unknown>>;
  /** Whether it is signed with another key than the provider's. */
  readonly isForged?: boolean;
}

/** An OpenID provider, which knows one client and asks nobody anything. It checks what a provider has to: code, redirect, secret and PKCE. */
export class IdentityProvider {
  issuer = "";
  /** How often it was asked for tokens. */
  asked = 0;
  next: NextLogin = { claims: { sub: "1", email: "ann@example.com" } };
  readonly client = { id: "dashboard", secret: "s3cret" } as const;
  readonly #codes = new Map<string, URLSearchParams>();

  static async start(): Promise<IdentityProvider> {
    const provider = new IdentityProvider();
    const [ours, others] = await Promise.all([generateKeyPair("RS256"), generateKeyPair("RS256")]);
    const jwk = { ...(await exportJWK(ours.publicKey)), kid: "1", alg: "RS256", use: "sig" };
    const sign = (isForged: boolean, claims: Readonly<Record<string, unknown>>): Promise<string> =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid: "1" })
        .sign(isForged ? others.privateKey : ours.privateKey);
    const server = createServer((request, response) => void provider.#answer(request, response, jwk, sign));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return provider;
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    jwk: object,
    sign: (isForged: boolean, claims: Readonly<Record<string, unknown>>) => Promise<string>,
  ): Promise<void> {
    const { issuer } = this;
    const url = new URL(request.url ?? "", issuer);
    const say = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return say(200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
          code_challenge_methods_supported: ["S256"],
        });
      case "/jwks":
        return say(200, { keys: [jwk] });
      case "/authorize": {
        const code = randomUUID();
        this.#codes.set(code, url.searchParams);
        const back = new URL(url.searchParams.get("redirect_uri") ?? "");
        back.searchParams.set("code", code);
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        response.writeHead(302, { Location: back.href }).end();
        return;
      }
      case "/token": {
        this.asked++;
        const form = new URLSearchParams(await text(request));
        const asked = this.#codes.get(form.get("code") ?? "");
        this.#codes.delete(form.get("code") ?? "");
        const challenge = createHash("sha256")
          .update(form.get("code_verifier") ?? "")
          .digest("base64url");
        const isOurs =
          asked !== undefined &&
          asked.get("code_challenge") === challenge &&
          asked.get("redirect_uri") === form.get("redirect_uri");
        if (form.get("client_secret") !== this.client.secret) return say(401, { error: "invalid_client" });
        if (!isOurs) return say(400, { error: "invalid_grant" });
        const now = Math.floor(Date.now() / 1_000);
        const standard = {
          iss: issuer,
          aud: this.client.id,
          iat: now,
          exp: now + 60,
          nonce: asked.get("nonce"),
        };
        const { claims, wrong, isForged = false } = this.next;
        const id_token = await sign(isForged, { ...standard, ...claims, ...wrong });
        return say(200, { access_token: randomUUID(), token_type: "Bearer", expires_in: 60, id_token });
      }
      default:
        return say(404, {});
    }
  }
}
