import { exportJWK } from "jose";
import { describe, expect, it } from "vitest";
import { AuthorizationServer, keyPair, outage } from "./authorization-server.ts";
import { setUp, verifierFor } from "./jwt-set-up.ts";

const invalid = { code: "invalid_token" };
const unavailable = { code: "temporarily_unavailable" };

describe("the keys", () => {
  it("are read once for many", async () => {
    const { server, verify } = await setUp();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => server.token()));
    await Promise.all(tokens.map(verify));
    server.clock.suspend(599_999);
    await verify(await server.token());
    expect(server.reads).toBe(1);
    server.clock.suspend(1);
    await verify(await server.token());
    expect(server.reads).toBe(2);
  });

  it("are read again for one that is new, after the cooldown, and once for all who bring it", async () => {
    const { server, verify } = await setUp();
    await verify(await server.token());
    const two = await keyPair("ES256", "two");
    server.keys.push(two);
    server.clock.suspend(29_999);
    await expect(verify(await server.token({}, two))).rejects.toMatchObject(invalid);
    expect(server.reads).toBe(1);
    server.clock.suspend(1);
    const tokens = await Promise.all(Array.from({ length: 20 }, () => server.token({}, two)));
    await Promise.all(tokens.map(verify));
    expect(server.reads).toBe(2);
    await verify(await server.token()); // the old one still counts
  });

  it("are not read again and again for keys that are made up, which keep no new one out", async () => {
    const { server, verify } = await setUp();
    await verify(await server.token());
    const made = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => server.token({}, await keyPair("ES256", `made-up-${i}`))),
    );
    const [first = "", ...others] = made;
    server.clock.suspend(30_000);
    await expect(verify(first)).rejects.toMatchObject(invalid);
    const two = await keyPair("ES256", "two");
    server.keys.push(two);
    const rotated = await server.token({}, two);
    for (const token of [...others, rotated, first]) {
      await expect(verify(token)).rejects.toMatchObject(invalid);
    }
    expect(server.reads).toBe(2);
    server.clock.suspend(30_000);
    await expect(verify(others[0] ?? "")).rejects.toMatchObject(invalid);
    await verify(rotated);
    expect(server.reads).toBe(3);
  });

  it("do not count any more once they were taken back", async () => {
    const { server, verify } = await setUp();
    const token = await server.token({ exp: server.now + 3_600 });
    await verify(token);
    server.keys.splice(0, 1, await keyPair("ES256", "two"));
    server.clock.suspend(600_000);
    await expect(verify(token)).rejects.toMatchObject(invalid);
  });

  it("count no longer for a clock that is put back", async () => {
    const { server, verify } = await setUp();
    const token = await server.token();
    await verify(token);
    server.clock.jump(-100_000);
    server.clock.suspend(599_999);
    await verify(token);
    expect(server.reads).toBe(1);
    server.clock.suspend(1);
    await verify(token);
    expect(server.reads).toBe(2);
  });

  it("may be given instead", async () => {
    const key = await keyPair("ES256", "one");
    const server = await AuthorizationServer.start(key);
    const jwks = { keys: [{ ...(await exportJWK(key.publicKey)), kid: "one" }] };
    await verifierFor(server, { jwks }).verifyAccessToken(await server.token());
    expect(server.reads).toBe(0);
  });
});

it("refuses a token of another issuer for good, whatever is with the keys", async () => {
  const { server, verify } = await setUp();
  const foreign = await server.token({ iss: "https://another.example" }, await keyPair("ES256", "foreign"));
  server.instead = outage;
  await expect(verify(foreign)).rejects.toMatchObject(invalid);
  server.instead = undefined;
  server.clock.suspend(1_000);
  await verify(await server.token());
  await expect(verify(foreign)).rejects.toMatchObject(invalid);
  expect(server.reads).toBe(1);
});

describe("while the keys cannot be read", () => {
  it("nobody knows whether a token is good, and the issuer is not asked all the time", async () => {
    const { server, verify } = await setUp();
    server.instead = outage;
    for (let i = 0; i < 5; i++) await expect(verify(await server.token())).rejects.toMatchObject(unavailable);
    expect(server.reads).toBe(1);
    server.instead = undefined;
    server.clock.suspend(1_000);
    await verify(await server.token());
  });

  it("those that are known count for an hour, and are asked for after the cooldown", async () => {
    const { server, verify } = await setUp();
    const long = { exp: server.now + 86_400 };
    const token = await server.token(long);
    await verify(token);
    server.instead = outage;
    server.clock.suspend(600_000);
    await verify(token);
    await verify(token);
    expect(server.reads).toBe(2);
    const unknown = await server.token(long, await keyPair("ES256", "two"));
    // It may be a key that is new.
    await expect(verify(unknown)).rejects.toMatchObject(unavailable);
    server.clock.suspend(3_000_000);
    await expect(verify(token)).rejects.toMatchObject(unavailable);
    server.instead = undefined;
    server.clock.suspend(30_000);
    await verify(token);
    server.clock.suspend(30_000);
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

  it("a key that cannot be used is none, and keeps none of the others from counting", async () => {
    const good = await keyPair("RS256");
    const server = await AuthorizationServer.start(good);
    const short = { kty: "RSA", n: "AQAB", e: "AQAB" };
    const keys = [short, await exportJWK(good.publicKey)];
    const publish = (set: object): void => {
      server.instead = (response) => void response.end(JSON.stringify(set));
    };
    publish({ keys });
    const token = await server.token();
    expect(await verifierFor(server).verifyAccessToken(token)).toMatchObject({ subject: "ann" });
    for (const damaged of [short, { kty: "RSA" }, { ...short, n: "!!!" }]) {
      publish({ keys: [damaged] });
      await expect(verifierFor(server).verifyAccessToken(token)).rejects.toMatchObject({
        ...unavailable,
        message: "A key of the issuer cannot be used.",
      });
    }
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
