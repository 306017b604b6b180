import { inspect } from "node:util";
import { introspectionVerifier, type IntrospectionVerifierOptions, type TokenVerifier } from "holdfast/auth";
import { describe, expect, it } from "vitest";
import { introspectionVerifierBy } from "../../../src/server/auth/introspection-verifier.ts";
import { audience, AuthorizationServer, outage } from "./authorization-server.ts";

const invalid = { code: "invalid_token" };
const unavailable = { code: "temporarily_unavailable" };
const secret = { clientId: "reports:1", clientSecret: "a+b c" };

interface SetUp {
  readonly server: AuthorizationServer;
  readonly verifier: TokenVerifier;
  readonly verify: (token: string) => Promise<unknown>;
}

async function setUp(options: Partial<IntrospectionVerifierOptions> = {}): Promise<SetUp> {
  const server = await AuthorizationServer.start();
  server.tokens.set("good", { sub: "ann", aud: audience, exp: server.now + 600, scope: "a b" });
  const { clock, issuer, introspection: url } = server;
  const all = { url, issuer, audience, ...secret, ...options } as IntrospectionVerifierOptions;
  const verifier = introspectionVerifierBy(clock, all);
  return { server, verifier, verify: (token) => verifier.verifyAccessToken(token) };
}

it("tells what the authorization server says of a good token", async () => {
  const { server, verify } = await setUp();
  expect(await verify("good")).toMatchObject({
    token: "good",
    issuer: server.issuer,
    subject: "ann",
    scopes: ["a", "b"],
    expiresAt: server.now + 600,
    extra: { active: true },
  });
  const [{ authorization = "", form } = { form: new URLSearchParams() }] = server.asked;
  expect(Object.fromEntries(form)).toEqual({ token: "good", token_type_hint: "access_token" });
  const pair = Buffer.from(authorization.replace("Basic ", ""), "base64").toString();
  expect(pair).toBe("reports%3A1:a%2Bb+c");
});

it("shows what the author gives, each time anew", async () => {
  let count = 0;
  const authorization = async (): Promise<string> => `Bearer ${++count}`;
  const { server, verify } = await setUp({
    authorization,
    clientId: undefined,
    clientSecret: undefined,
  } as never);
  await verify("good");
  await expect(verify("bad")).rejects.toMatchObject(invalid);
  expect(server.asked.map((asked) => asked.authorization)).toEqual(["Bearer 1", "Bearer 2"]);
});

it("knows of no token while there is nothing to show", async () => {
  const authorization = (): string => {
    throw new Error("no secret");
  };
  const { server, verify } = await setUp({ authorization });
  await expect(verify("good")).rejects.toMatchObject(unavailable);
  expect(server.asked).toEqual([]);
});

it.each([
  [{ aud: "other" }, "aud"],
  [{ aud: undefined }, "aud"],
  [{ aud: ["other", 7] }, "aud"],
  [{ iss: "https://login.example.com" }, "iss"],
  [{ nbf: 4_000_000_000 }, "nbf"],
  [{ nbf: "0" }, "nbf"],
])("refuses an active token with %j", async (claims, name) => {
  const { server, verify } = await setUp();
  server.tokens.set("bad", { sub: "ann", aud: audience, ...claims });
  await expect(verify("bad")).rejects.toMatchObject({
    ...invalid,
    message: `The claim ${name} is not accepted`,
  });
});

it.each([
  { active: "true" },
  { active: 1 },
  { exp: 1 },
  { exp: "4000000000" },
  { token_type: "DPoP" },
  { cnf: { jkt: "0ZcOCORZNYy" } },
])("refuses a token of which it is said %j", async (claims) => {
  const { server, verify } = await setUp();
  server.tokens.set("bad", { sub: "ann", aud: audience, ...claims });
  await expect(verify("bad")).rejects.toMatchObject(invalid);
});

it("leaves the audience to the authorization server where it is told so", async () => {
  const { server, verify } = await setUp({ audience: false });
  server.tokens.set("good", { sub: "ann" });
  expect(await verify("good")).toMatchObject({ subject: "ann" });
});

describe("what was said is remembered", () => {
  it("for a minute: then a token that was revoked is refused", async () => {
    const { server, verify } = await setUp();
    await verify("good");
    server.tokens.clear();
    server.clock.suspend(59_999);
    await verify("good");
    expect(server.asked).toHaveLength(1);
    server.clock.suspend(1);
    await expect(verify("good")).rejects.toMatchObject(invalid);
  });

  it("never beyond the token's own end", async () => {
    const { server, verify } = await setUp({ clockToleranceMs: 0 });
    server.tokens.set("good", { sub: "ann", aud: audience, exp: server.now + 10 });
    await verify("good");
    server.clock.suspend(9_999);
    await verify("good");
    expect(server.asked).toHaveLength(1);
    server.clock.suspend(1);
    await expect(verify("good")).rejects.toMatchObject(invalid);
    expect(server.asked).toHaveLength(2);
  });

  it("not any longer for a clock that is put back", async () => {
    const { server, verify } = await setUp();
    await verify("good");
    server.tokens.clear();
    server.clock.jump(-100_000);
    server.clock.suspend(59_999);
    await verify("good");
    server.clock.suspend(1);
    await expect(verify("good")).rejects.toMatchObject(invalid);
  });

  it("for ten seconds where it was no", async () => {
    const { server, verify } = await setUp();
    for (let i = 0; i < 3; i++) await expect(verify("new")).rejects.toMatchObject(invalid);
    expect(server.asked).toHaveLength(1);
    server.tokens.set("new", { sub: "ann", aud: audience });
    server.clock.suspend(10_000);
    await verify("new");
  });

  it("not at all, where that is asked for", async () => {
    const { server, verify } = await setUp({ maxAgeMs: 0 });
    await verify("good");
    server.tokens.clear();
    await expect(verify("good")).rejects.toMatchObject(invalid);
  });

  it("of so many tokens; bad ones push out no good ones", async () => {
    const { server, verify } = await setUp({ maxEntries: 2, audience: false });
    for (const token of ["a", "b", "c"]) server.tokens.set(token, { sub: token });
    await verify("a");
    await verify("b");
    for (let i = 0; i < 5; i++) await expect(verify(`bad-${i}`)).rejects.toMatchObject(invalid);
    await verify("a"); // used later than b
    expect(server.asked).toHaveLength(7);
    await verify("c");
    await verify("a");
    expect(server.asked).toHaveLength(8);
    await verify("b");
    expect(server.asked).toHaveLength(9);
  });

  it("without the token itself", async () => {
    const token = "in-the-memory-of-this-process";
    const { server, verify, verifier } = await setUp({ audience: false });
    server.tokens.set(token, { sub: "ann" });
    const { extra } = (await verify(token)) as { extra: unknown };
    expect(inspect([verifier, extra], { depth: 9, showHidden: true })).not.toContain(token);
  });
});

it("asks once for all who bring a token at the same time", async () => {
  const { server, verify } = await setUp();
  await Promise.all(Array.from({ length: 50 }, () => verify("good")));
  expect(server.asked).toHaveLength(1);
  const refused = await Promise.allSettled(Array.from({ length: 50 }, () => verify("bad")));
  expect(refused.every(({ status }) => status === "rejected")).toBe(true);
  expect(server.asked).toHaveLength(2);
});

it("asks for so many at a time, and says of the rest that it does not know", async () => {
  const { server, verify } = await setUp({ maxConcurrent: 2 });
  const held: (() => void)[] = [];
  const arrived = new Promise<void>((resolve) => {
    server.instead = (response) => {
      held.push(() => void response.end('{"active":false}'));
      if (held.length === 2) resolve();
    };
  });
  const first = ["a", "b"].map((token) => expect(verify(token)).rejects.toMatchObject(invalid));
  await arrived;
  await expect(verify("c")).rejects.toMatchObject(unavailable);
  for (const release of held) release();
  await Promise.all(first);
  server.instead = undefined;
  await verify("good");
});

it("asks again for a token that was good, however many made-up ones are being asked for", async () => {
  const { server, verify } = await setUp({ maxConcurrent: 2 });
  await verify("good");
  server.clock.suspend(60_000);
  const held: (() => void)[] = [];
  const arrived = new Promise<void>((resolve) => {
    server.instead = (response) => {
      held.push(() => void response.end('{"active":false}'));
      if (held.length === 2) resolve();
    };
  });
  const made = ["a", "b"].map((token) => expect(verify(token)).rejects.toMatchObject(invalid));
  await arrived;
  server.instead = undefined;
  await expect(verify("c")).rejects.toMatchObject(unavailable);
  expect(await verify("good")).toMatchObject({ subject: "ann" });
  // One that is taken back is a stranger's from then on.
  server.tokens.delete("good");
  server.clock.suspend(60_000);
  await expect(verify("good")).rejects.toMatchObject(invalid);
  server.clock.suspend(10_000);
  await expect(verify("good")).rejects.toMatchObject(unavailable);
  for (const release of held) release();
  await Promise.all(made);
});

describe("while introspection does not answer", () => {
  it("nobody knows whether a token is good, unless that is remembered", async () => {
    const { server, verify } = await setUp();
    await verify("good");
    server.instead = outage;
    await verify("good");
    await expect(verify("other")).rejects.toMatchObject(unavailable);
    server.clock.suspend(60_000);
    await expect(verify("good")).rejects.toMatchObject(unavailable);
    server.instead = undefined;
    await verify("good");
  });

  it.each([
    ["a refusal", 401, '{"active":true}'],
    ["no JSON", 200, "x"],
    ["no object", 200, '"active"'],
    ["a redirection", 307, ""],
  ])("%s is no answer", async (_name, status, body) => {
    const { server, verify } = await setUp();
    server.instead = (response) => void response.writeHead(status, { Location: "/introspect" }).end(body);
    await expect(verify("good")).rejects.toMatchObject(unavailable);
    expect(server.asked).toHaveLength(1);
  });

  it("it is waited for five seconds, and the token is not in what is reported", async () => {
    const { server, verify } = await setUp();
    const arrived = new Promise<void>((resolve) => {
      server.instead = (response) => {
        response.write('{"active":');
        resolve();
      };
    });
    const failed = verify("a-secret-token").catch((error: unknown) => error);
    await arrived;
    await server.clock.advance(5_000);
    const error = await failed;
    expect(error).toMatchObject(unavailable);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/a-secret-token|a\+b|a%2Bb/);
  });
});

it.each([
  { url: new URL("http://login.example.com/introspect") },
  { clientSecret: undefined },
  { clientId: "" },
  { issuer: "login" },
  { audience: "" },
  { maxEntries: 0 },
  { maxAgeMs: -1 },
  { refusedMaxAgeMs: Number.POSITIVE_INFINITY },
])("refuses the options %j", (options) => {
  const url = new URL("https://login.example.com/introspect");
  const good = { url, issuer: "https://login.example.com", audience, ...secret };
  introspectionVerifier(good);
  expect(() => introspectionVerifier({ ...good, ...options } as IntrospectionVerifierOptions)).toThrow(
    expect.objectContaining({ code: "configuration" }),
  );
});
