import { exportJWK, exportSPKI, SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { jwtVerifier, type JwtVerifierOptions, type TokenVerifier } from "holdfast/auth";
import { jwtVerifierBy } from "../../../src/server/auth/jwt-verifier.ts";
import { audience, AuthorizationServer, keyPair, outage } from "./authorization-server.ts";

const invalid = { code: "invalid_token" };
const unavailable = { code: "temporarily_unavailable" };

function verifierFor(server: AuthorizationServer, options: Partial<JwtVerifierOptions> = {}): TokenVerifier {
  const { clock, issuer, jwks } = server;
  return jwtVerifierBy(clock, { issuer, audience, jwks, ...options });
}

async function setUp(options: Partial<JwtVerifierOptions> = {}): Promise<{
  server: AuthorizationServer;
  verify: (token: string) => Promise<unknown>;
}> {
  const server = await AuthorizationServer.start(await keyPair("ES256", "one"));
  const verifier = verifierFor(server, options);
  return { server, verify: (token) => verifier.verifyAccessToken(token) };
}

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
    server.clock.jump(100_000 + last);
    await verify(token);
    server.clock.jump(end - last);
    await expect(verify(token)).rejects.toMatchObject({ ...invalid, message: "The token has expired" });
  });

  it("may be apart: a token begins so much earlier", async () => {
    const { server, verify } = await setUp();
    const token = await server.token({ nbf: server.now + 10 });
    server.clock.jump(4_999);
    await expect(verify(token)).rejects.toMatchObject({
      ...invalid,
      message: "The claim nbf is not accepted",
    });
    server.clock.jump(1);
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

describe("the keys", () => {
  it("are read once for many", async () => {
    const { server, verify } = await setUp();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => server.token()));
    await Promise.all(tokens.map(verify));
    server.clock.jump(599_999);
    await verify(await server.token());
    expect(server.reads).toBe(1);
    server.clock.jump(1);
    await verify(await server.token());
    expect(server.reads).toBe(2);
  });

  it("are read again for one that is new, after the cooldown, and once for all who bring it", async () => {
    const { server, verify } = await setUp();
    await verify(await server.token());
    const two = await keyPair("ES256", "two");
    server.keys.push(two);
    server.clock.jump(29_999);
    await expect(verify(await server.token({}, two))).rejects.toMatchObject(invalid);
    expect(server.reads).toBe(1);
    server.clock.jump(1);
    const tokens = await Promise.all(Array.from({ length: 20 }, () => server.token({}, two)));
    await Promise.all(tokens.map(verify));
    expect(server.reads).toBe(2);
    await verify(await server.token()); // the old one still counts
  });

  it("are not read again and again for keys that are made up", async () => {
    const { server, verify } = await setUp();
    await verify(await server.token());
    server.clock.jump(30_000);
    for (let i = 0; i < 10; i++) {
      const made = await server.token({}, await keyPair("ES256", `made-up-${i}`));
      await expect(verify(made)).rejects.toMatchObject(invalid);
    }
    expect(server.reads).toBe(2);
  });

  it("do not count any more once they were taken back", async () => {
    const { server, verify } = await setUp();
    const token = await server.token({ exp: server.now + 3_600 });
    await verify(token);
    server.keys.splice(0, 1, await keyPair("ES256", "two"));
    server.clock.jump(600_000);
    await expect(verify(token)).rejects.toMatchObject(invalid);
  });

  it("may be given instead", async () => {
    const key = await keyPair("ES256", "one");
    const server = await AuthorizationServer.start(key);
    const jwks = { keys: [{ ...(await exportJWK(key.publicKey)), kid: "one" }] };
    await verifierFor(server, { jwks }).verifyAccessToken(await server.token());
    expect(server.reads).toBe(0);
  });
});

describe("while the keys cannot be read", () => {
  it("nobody knows whether a token is good, and the issuer is not asked all the time", async () => {
    const { server, verify } = await setUp();
    server.instead = outage;
    for (let i = 0; i < 5; i++) await expect(verify(await server.token())).rejects.toMatchObject(unavailable);
    expect(server.reads).toBe(1);
    server.instead = undefined;
    server.clock.jump(1_000);
    await verify(await server.token());
  });

  it("those that are known count for an hour, and are asked for after the cooldown", async () => {
    const { server, verify } = await setUp();
    const long = { exp: server.now + 86_400 };
    const token = await server.token(long);
    await verify(token);
    server.instead = outage;
    server.clock.jump(600_000);
    await verify(token);
    await verify(token);
    expect(server.reads).toBe(2);
    const unknown = await server.token(long, await keyPair("ES256", "two"));
    // It may be a key that is new.
    await expect(verify(unknown)).rejects.toMatchObject(unavailable);
    server.clock.jump(3_000_000);
    await expect(verify(token)).rejects.toMatchObject(unavailable);
    server.instead = undefined;
    server.clock.jump(30_000);
    await verify(token);
    await expect(verify(unknown)).rejects.toMatchObject(invalid);
  });

  it.each([
    ["no JSON", "x"],
    ["no object", "[]"],
    ["no keys", "{}"],
    ["too much", JSON.stringify({ keys: [], padding: "x".repeat(1024 * 1024) })],
  ])("%s is no answer", async (_name, body) => {
    const { server, verify } = await setUp();
    server.instead = (response) => void response.end(body);
    await expect(verify(await server.token())).rejects.toMatchObject(unavailable);
  });

  it("an answer from elsewhere is none", async () => {
    const { server, verify } = await setUp();
    const other = await AuthorizationServer.start(...server.keys);
    server.instead = (response) => void response.writeHead(302, { Location: other.jwks.href }).end();
    await expect(verify(await server.token())).rejects.toMatchObject(unavailable);
    expect(other.reads).toBe(0);
  });

  it("a server that says nothing is waited for five seconds", async () => {
    const { server, verify } = await setUp();
    const arrived = new Promise<void>((resolve) => {
      server.instead = () => resolve();
    });
    const failed = verify(await server.token()).catch((error: unknown) => error);
    await arrived;
    await server.clock.advance(5_000);
    expect(await failed).toMatchObject(unavailable);
    expect(server.clock.armed).toBe(0);
  });
});

const jwks = new URL("https://login.example.com/keys");
it.each([
  { jwks: new URL("http://login.example.com/keys") },
  { jwks: new URL("http://127.0.0.1.example.com/keys") },
  { jwks: new URL("file:///etc/keys"), allowInsecureUrl: true },
  { jwks: { keys: "none" } as never },
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
