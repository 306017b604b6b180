import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import {
  allowedAddresses,
  isAllowable,
  checkedLookup,
  refusalOfHost,
  type Resolve,
} from "../../src/runtime/allowed-addresses.ts";
import { Poster } from "../../src/runtime/webhooks/post.ts";

const none = allowedAddresses([]);

/** The host of a URL as it is written, in what `URL` makes of it. */
const hostOf = (written: string): string => new URL(`https://${written}/`).hostname;

test.each([
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0177.0.0.1",
  "0",
  "10.1.2.3",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "168.63.129.16",
  "[::ffff:168.63.129.16]",
  "100.64.0.1",
  "100.127.255.254",
  "192.0.0.8",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "192.88.99.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:a00:1]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::10.0.0.1]",
  "[64:ff9b:1::1]",
  "[100::1]",
  "[2001::1]",
  "[2001:db8::1]",
  "[2002:7f00:1::]",
  "[3fff::1]",
  "[4000::1]",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "[fe80::1]",
  "[fec0::1]",
  "[ff02::1]",
])("%s is not sent to", (written) => {
  expect(refusalOfHost(hostOf(written), none)).toMatch(/is not a public internet address/);
});

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "172.32.0.1",
  "[2606:4700::1111]",
  "[2a00:1450:4001::1]",
  "[::ffff:8.8.8.8]",
])("%s is", (written) => expect(refusalOfHost(hostOf(written), none)).toBeUndefined());

test("what is allowed by itself may be sent to, and nothing beside it", () => {
  const allowed = allowedAddresses(["10.0.0.0/8", "127.0.0.1", "fd00::/8"]);
  const refused = ["10.9.9.9", "127.0.0.1", "127.0.0.2", "[fd00::1]", "[::1]", "192.168.0.1"].map(
    (written) => refusalOfHost(hostOf(written), allowed) !== undefined,
  );
  expect(refused).toEqual([false, false, true, false, true, true]);
});

test.each(["10.0.0.0/40", "", "a b", "*"])("%o is no range, address or host", (given) => {
  expect(isAllowable(given)).toBe(false);
});

/** What a name resolves to, one list after the other, as a name server that changes its mind answers. */
function names(...answers: readonly (readonly string[])[]): {
  readonly resolve: Resolve;
  readonly asked: () => number;
} {
  let asked = 0;
  const resolve: Resolve = (_, done) => {
    const answer = answers[Math.min(asked++, answers.length - 1)] ?? [];
    done(
      null,
      answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { resolve, asked: () => asked };
}

/** What is connected to, or why nothing is. */
function looked(allow: readonly string[], resolve: Resolve, host = "hooks.example"): Promise<unknown> {
  return new Promise((done) => {
    checkedLookup(allowedAddresses(allow), resolve)(host, { all: true }, (error, found) =>
      done(error === null ? found : error.message),
    );
  });
}

test("a name with one address that is not public is not sent to, whatever its others are", async () => {
  expect(await looked([], names(["8.8.8.8", "10.0.0.1"]).resolve)).toMatch(
    /^10\.0\.0\.1 is not a public internet address/,
  );
  expect(await looked([], names(["8.8.8.8", "::1"]).resolve)).toMatch(
    /^::1 is not a public internet address/,
  );
  expect(await looked([], names(["8.8.8.8"]).resolve)).toEqual([{ address: "8.8.8.8", family: 4 }]);
  expect(await looked(["10.0.0.0/8"], names(["10.0.0.1"]).resolve)).toHaveLength(1);
  expect(await looked(["hooks.example"], names(["10.0.0.1"]).resolve)).toHaveLength(1);
  expect(await looked(["other.example"], names(["10.0.0.1"]).resolve)).toMatch(/not a public/);
  expect(await looked([], (_, done) => done(null, []))).toBe("hooks.example has no address");
});

test("a name that the system does not know is an error of the connection, not of the process", async () => {
  const poster = new Poster(new URL("http://missing.invalid/"), {
    lookup: checkedLookup(none),
    connections: 1,
  });
  const sent = poster.post({ headers: {}, body: "{}" }, AbortSignal.timeout(60_000));
  await expect(sent).rejects.toThrow(/missing\.invalid/);
  poster.close();
});

test("the connection goes to what was looked at, and not to what the name resolves to then", async () => {
  const server = createServer((_, answer) => void answer.writeHead(200).end()).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const message = { headers: {}, body: "{}" };
  const url = new URL(`http://hooks.example:${port}/`);
  const post = async (allow: readonly string[], resolve: Resolve): Promise<number> => {
    const poster = new Poster(url, {
      lookup: checkedLookup(allowedAddresses(allow), resolve),
      connections: 1,
    });
    try {
      return (await poster.post(message, AbortSignal.timeout(10_000))).status;
    } finally {
      poster.close();
    }
  };
  // Looked up once: a second answer, which would be refused, is not asked for.
  const changing = names(["127.0.0.1"], ["10.0.0.1"]);
  expect(await post(["127.0.0.1"], changing.resolve)).toBe(200);
  expect(changing.asked()).toBe(1);
  await expect(post([], names(["127.0.0.1"]).resolve)).rejects.toThrow(/not a public internet address/);
  await new Promise((resolve) => server.close(resolve));
});

test("a connection that the webhook has closed before the next message is no failure of that message", async () => {
  const used = new Set<object>();
  const server = createServer((request, answer) => {
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    answer.writeHead(200).end();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const poster = new Poster(new URL(`http://127.0.0.1:${port}/`), {
    lookup: checkedLookup(none),
    connections: 1,
  });
  const message = { headers: {}, body: "{}" };
  for (let n = 0; n < 3; n++)
    expect((await poster.post(message, AbortSignal.timeout(10_000))).status).toBe(200);
  expect(used.size).toBe(3);
  poster.close();
  await new Promise((resolve) => server.close(resolve));
});

test("a message at which the webhook closes its connection is sent twice at once, however many wait for messages", async () => {
  const received: string[] = [];
  const held: (() => void)[] = [];
  const server = createServer((request, answer) => {
    request.setEncoding("utf8").on("data", (body: string) => {
      received.push(body);
      if (body === "poison") request.socket.destroy();
      else if (held.push(() => answer.end()) === 3) for (const end of held) end();
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const poster = new Poster(new URL(`http://127.0.0.1:${port}/`), {
    lookup: checkedLookup(none),
    connections: 3,
  });
  const post = async (body: string) => poster.post({ headers: {}, body }, AbortSignal.timeout(10_000));
  await Promise.all([post("1"), post("2"), post("3")]);
  await expect(post("poison")).rejects.toThrow("socket hang up");
  expect(received.filter((body) => body === "poison")).toHaveLength(2);
  poster.close();
  await new Promise((resolve) => server.close(resolve));
});
