import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { logIn, logOut, memoryLogins } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { publicFetch, publicFetchWith } from "../../../src/client/auth/public-fetch.ts";
import { allowedAddresses, type Resolve } from "../../../src/runtime/allowed-addresses.ts";
import { connected, loggedIn, visits } from "./connected.ts";
import { protectedBy } from "./protected.ts";

const refused = {
  code: "unauthorized",
  message: expect.stringMatching(/^The login may not use http.*: .+ is not a public/),
};

/** A name server of ours: the name is public, and its address is not. */
const toLoopback: Resolve = (_host, done) => done(null, [{ address: "127.0.0.1", family: 4 }]);

async function serve(): Promise<{ readonly port: number; readonly seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      seen.push(`${request.method} ${request.url} ${request.headers["content-type"] ?? ""} ${body}`);
      response.writeHead(request.url === "/moved" ? 302 : 200, { location: "http://10.0.0.1/" }).end("ok");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

it.each(["http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://168.63.129.16/", "http://[::1]:1/"])(
  "asks nobody at %s",
  async (url) => {
    await expect(publicFetch(url)).rejects.toMatchObject(refused);
  },
);

it("asks nobody at a name that leads to this machine or network", async () => {
  const { port, seen } = await serve();
  const fetchIt = publicFetchWith(allowedAddresses([]), toLoopback);
  await expect(fetchIt(`http://login.example.com:${port}/`)).rejects.toMatchObject(refused);
  await expect(publicFetch(`http://localhost:${port}/`)).rejects.toMatchObject(refused);
  expect(seen).toEqual([]);
});

it("sends forms and texts, and follows no redirect", async () => {
  const { port, seen } = await serve();
  const fetchIt = publicFetchWith(allowedAddresses(["127.0.0.1"]), toLoopback);
  const url = `http://login.example.com:${port}`;
  expect(await (await fetchIt(`${url}/a`)).text()).toBe("ok");
  await fetchIt(`${url}/token`, { method: "POST", body: new URLSearchParams({ a: "1 2" }) });
  const json = { "content-type": "application/json" };
  await fetchIt(`${url}/register`, { method: "POST", body: "{}", headers: json });
  expect((await fetchIt(`${url}/moved`)).status).toBe(302);
  expect(seen).toEqual([
    "GET /a  ",
    "POST /token application/x-www-form-urlencoded a=1+2",
    "POST /register application/json {}",
    "GET /moved  ",
  ]);
});

it("keeps logins from addresses that are not public, if that is set", async () => {
  const { url, oauth } = await protectedBy();
  const options = { store: memoryLogins(), onAddress: visits, addresses: "public" as const };
  await expect(logIn(url, options)).rejects.toMatchObject(refused);
  const { port } = new URL(url);
  await expect(logIn(`http://localhost:${port}/mcp`, options)).rejects.toMatchObject(refused);
  expect(oauth.times("/register")).toBe(0);
  const store = await loggedIn(url);
  const asked = oauth.times("/token");
  oauth.expireAll();
  const renewing = connected(url, store, { addresses: "public" });
  await expect(renewing).rejects.toMatchObject(refused);
  expect(oauth.times("/token")).toBe(asked);
  expect(await logOut(url, { store, addresses: "public" })).toBe("deleted");
  expect(oauth.times("/revoke")).toBe(0);
});
