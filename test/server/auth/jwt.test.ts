import { exportJWK, exportSPKI, SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { jwtVerifier } from "holdfast/auth";
import { audience, AuthorizationServer, keyPair } from "./authorization-server.ts";
import { setUp, verifierFor } from "./jwt-set-up.ts";

const invalid = { code: "invalid_token" };

it("tells what a good token says", async () => {
  const { server, verify } = await setUp();
  const token = await server.token({ scope: "a b a", client_id: "desk", extra: 1 });
  expect(await verify(token)).toEqual({
    token,
    issuer: server.issuer,
    subject: "ann",
    clientId: "desk",
    scopes: ["a", "b"],
    expiresAt: server.now + 600,
    extra: expect.objectContaining({ sub: "ann", extra: 1 }) as unknown,
  });
});

it.each([
  [{ scp: ["a", "b"], azp: "desk" }, ["a", "b"], "desk"],
  [{ scp: "a b" }, ["a", "b"], ""],
  [{ scope: 7, client_id: 7 }, [], ""],
  [{ scope: ["a", 7, ""] }, ["a"], ""],
])("reads the scopes and the client of %j", async (claims, scopes, clientId) => {
  const { server, verify } = await setUp();
  expect(await verify(await server.token(claims))).toMatchObject({ scopes, clientId });
});

it("refuses a token that is bound to a key, which proves nothing without it", async () => {
  const { server, verify } = await setUp();
  await expect(verify(await server.token({ cnf: { jkt: "0ZcOCORZNYy" } }))).rejects.toMatchObject(invalid);
  expect(await verify(await server.token({ cnf: "of no known kind" }))).toMatchObject({ subject: "ann" });
});

it.each(["RS256", "PS384", "ES512", "EdDSA"])("takes signatures by %s", async (alg) => {
  const server = await AuthorizationServer.start(await keyPair(alg, "one"));
  const verifier = verifierFor(server);
  expect(await verifier.verifyAccessToken(await server.token())).toMatchObject({ subject: "ann" });
});

it.each([
  [{ aud: "https://other.example.com/mcp" }, "aud"],
  [{ aud: ["https://other.example.com/mcp", `${audience}/`] }, "aud"],
  [{ aud: undefined }, "aud"],
  [{ iss: "https://login.example.com" }, "iss"],
  [{ iss: undefined }, "iss"],
  [{ exp: undefined }, "exp"],
  [{ exp: "2099" }, "exp"],
  [{ department: undefined }, "department"],
])("refuses a token with %j", async (claims, name) => {
  const { server, verify } = await setUp({ requiredClaims: ["department"] });
  const { aud } = { aud: [audience, "other"] };
  await verify(await server.token({ department: "sales", aud }));
  await expect(
    verify(await server.token({ department: "sales", ...(claims as JWTPayload) })),
  ).rejects.toMatchObject({
    ...invalid,
    message: `The claim ${name} is not accepted`,
  });
});

describe("the clocks of issuer and server", () => {
  it.each([
    [undefined, 4_999, 5_000],
    [0, -1, 0],
    [60_000, 59_999, 60_000],
  ])("may be apart by %s ms: a token ends so much later", async (clockToleranceMs, last, end) => {
    const { server, verify } = await setUp(clockToleranceMs === undefined ? {} : { clockToleranceMs });
    const token = await server.token({ exp: server.now + 100 });
    server.clock.suspend(100_000 + last);
    await verify(token);
    server.clock.suspend(end - last);
    await expect(verify(token)).rejects.toMatchObject({ ...invalid, message: "The token has expired" });
  });

  it("may be apart: a token begins so much earlier", async () => {
    const { server, verify } = await setUp();
    const token = await server.token({ nbf: server.now + 10 });
    server.clock.suspend(4_999);
    await expect(verify(token)).rejects.toMatchObject({
      ...invalid,
      message: "The claim nbf is not accepted",
    });
    server.clock.suspend(1);
    await verify(token);
  });
});

describe("a signature", () => {
  it("does not count by HS256 with the public key as its secret", async () => {
    const rsa = await keyPair("RS256", "one");
    const server = await AuthorizationServer.start(rsa);
    const verifier = verifierFor(server);
    const claims = { iss: server.issuer, aud: audience, sub: "ann", exp: server.now + 600 };
    for (const secret of [await exportSPKI(rsa.publicKey), JSON.stringify(await exportJWK(rsa.publicKey))]) {
      const forged = await new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid: "one" })
        .sign(new TextEncoder().encode(secret));
      await expect(verifier.verifyAccessToken(forged)).rejects.toMatchObject(invalid);
    }
  });

  it("has to be there, and has to be right", async () => {
    const { server, verify } = await setUp();
    const good = await server.token();
    const [header = "", payload = "", signature = ""] = good.split(".");
    const other = await server.token({ sub: "eve" });
    const forged = [
      new UnsecuredJWT({ iss: server.issuer, aud: audience, sub: "ann", exp: server.now + 600 }).encode(),
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${other.split(".")[1] ?? ""}.${signature}`,
      await server.token({}, await keyPair("ES256", "one")),
      await withOwnKey(server),
      "a.b.c.d.e",
      "x",
      "..",
      `${good}.`,
    ];
    for (const token of forged) await expect(verify(token)).rejects.toMatchObject(invalid);
    await verify(good);
  });

  it("counts only by the algorithms that are allowed", async () => {
    const server = await AuthorizationServer.start(await keyPair("RS256", "one"));
    const token = await server.token();
    await verifierFor(server).verifyAccessToken(token);
    const strict = verifierFor(server, { algorithms: ["ES256", "PS256"] });
    await expect(strict.verifyAccessToken(token)).rejects.toMatchObject(invalid);
  });

  it("counts by any key that fits, where the token names none", async () => {
    const server = await AuthorizationServer.start(await keyPair(), await keyPair());
    const verifier = verifierFor(server);
    for (const key of server.keys) await verifier.verifyAccessToken(await server.token({}, key));
    const foreign = await server.token({}, await keyPair());
    await expect(verifier.verifyAccessToken(foreign)).rejects.toMatchObject(invalid);
    const late = await server.token({ exp: server.now - 60 }, server.keys[1]);
    await expect(verifier.verifyAccessToken(late)).rejects.toMatchObject({
      message: "The token has expired",
    });
  });

  it("is looked at only in tokens of the type that is asked for", async () => {
    const { server, verify } = await setUp({ type: "at+jwt" });
    await expect(verify(await server.token())).rejects.toMatchObject(invalid);
  });
});

/** A token that brings the key which it is signed by. */
async function withOwnKey(server: AuthorizationServer): Promise<string> {
  const { privateKey, publicKey } = await keyPair();
  return new SignJWT({ iss: server.issuer, aud: audience, sub: "ann", exp: server.now + 600 })
    .setProtectedHeader({ alg: "ES256", kid: "one", jwk: await exportJWK(publicKey), jku: server.jwks.href })
    .sign(privateKey);
}

const jwks = new URL("https://login.example.com/keys");
it.each([
  { jwks: new URL("http://login.example.com/keys") },
  { jwks: new URL("http://127.0.0.1.example.com/keys") },
  { jwks: new URL("file:///etc/keys"), allowInsecureUrl: true },
  { jwks: { keys: "none" } as never },
  { jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } },
  { jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x: "x", d: "d" }] } },
  { issuer: "" },
  { audience: "" },
  { audience: [] },
  { algorithms: [] },
  { algorithms: ["none"] as never },
  { algorithms: ["ES256", "HS256"] as never },
  { clockToleranceMs: -1 },
  { timeoutMs: 0 },
  { jwksMaxAgeMs: Number.NaN },
])("refuses the options %j", (options) => {
  const good = { issuer: "https://login.example.com", audience, jwks };
  jwtVerifier({ ...good, jwks: new URL("http://keys.internal/"), allowInsecureUrl: true });
  expect(() => jwtVerifier({ ...good, ...options })).toThrow(
    expect.objectContaining({ code: "configuration" }),
  );
});
