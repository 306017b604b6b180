import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from "jose";
import { onTestFinished } from "vitest";
import { FakeClock } from "../../../src/testing/clocks.ts";

export const audience = "https://reports.example.com/mcp";

export interface KeyPair {
  readonly alg: string;
  readonly kid: string | undefined;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export interface Received {
  readonly authorization: string | undefined;
  readonly form: URLSearchParams;
}

export async function keyPair(alg = "ES256", kid?: string): Promise<KeyPair> {
  return { alg, kid, ...(await generateKeyPair(alg, { extractable: true })) };
}

/** An authorization server on a free port of this machine: a key set, and introspection. */
export class AuthorizationServer {
  readonly clock = new FakeClock();
  /** Those that it publishes. */
  readonly keys: KeyPair[] = [];
  /** What introspection answers, by token; it knows no others. */
  readonly tokens = new Map<string, object>();
  /** What introspection was asked. */
  readonly asked: Received[] = [];
  /** How often the key set was read. */
  reads = 0;
  /** What it does instead of answering. */
  instead: ((response: ServerResponse) => void) | undefined;
  issuer = "";

  static async start(...keys: KeyPair[]): Promise<AuthorizationServer> {
    const server = new AuthorizationServer();
    server.keys.push(...keys);
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

  get jwks(): URL {
    return new URL("/keys", this.issuer);
  }

  get introspection(): URL {
    return new URL("/introspect", this.issuer);
  }

  /** Seconds since 1970, as tokens have them. */
  get now(): number {
    return Math.floor(this.clock.now() / 1_000);
  }

  /** A token as `by` signs it, good for ten minutes where `claims` do not say otherwise; undefined leaves one out. */
  async token(claims: JWTPayload = {}, by: KeyPair | undefined = this.keys[0]): Promise<string> {
    if (by === undefined) throw new Error("There is no key.");
    const usual = { iss: this.issuer, aud: audience, sub: "ann", exp: this.now + 600 };
    const { alg, kid } = by;
    return new SignJWT({ ...usual, ...claims })
      .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
      .sign(by.privateKey);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const isKeys = request.url?.endsWith("/introspect") !== true;
    if (isKeys) this.reads += 1;
    else this.asked.push({ authorization: request.headers.authorization, form });
    if (this.instead !== undefined) {
      this.instead(response);
      return;
    }
    const body = isKeys ? { keys: await this.#published() } : this.#told(form.get("token") ?? "");
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(body));
  }

  #told(token: string): object {
    const claims = this.tokens.get(token);
    return claims === undefined ? { active: false } : { active: true, ...claims };
  }

  #published(): Promise<JWK[]> {
    return Promise.all(
      this.keys.map(async ({ publicKey, kid }) => ({
        ...(await exportJWK(publicKey)),
        ...(kid !== undefined && { kid }),
        use: "sig",
      })),
    );
  }
}

/** What an authorization server does in an outage. */
export const outage = (response: ServerResponse): void => void response.writeHead(500).end();
