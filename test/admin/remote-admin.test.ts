import { createServer, type RequestListener } from "node:http";
import { remoteAdmin } from "holdfast/client";
import { expect, it } from "vitest";
import { served } from "../server/http-mount/mount.ts";

async function endpoint(listener: RequestListener): Promise<ReturnType<typeof remoteAdmin>> {
  const { origin } = await served(listener);
  return remoteAdmin(`${origin}/admin/`, { token: "token-of-ann" });
}

it("says that nobody answers, and where", async () => {
  const node = createServer();
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const address = node.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await new Promise((resolve) => node.close(resolve));
  await expect(remoteAdmin(`http://127.0.0.1:${port}/admin`, { token: "t" }).counts()).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringMatching(`http://127.0.0.1:${port}/admin did not answer: .*ECONNREFUSED`) as string,
  });
});

it.each<[string, RequestListener, string]>([
  ["a page", (_, response) => void response.end("<html>"), "configuration"],
  [
    "other JSON",
    (_, response) => void response.writeHead(404).end('{"error":{"code":-32600}}'),
    "configuration",
  ],
  ["an error of a proxy", (_, response) => void response.writeHead(502).end("Bad Gateway"), "store_failed"],
  [
    "a code that it does not know",
    (_, response) => void response.writeHead(500).end('{"error":{"code":"constructor","message":"m"}}'),
    "store_failed",
  ],
  [
    "another address",
    (_, response) => void response.writeHead(307, { Location: "http://127.0.0.1:1/" }).end(),
    "configuration",
  ],
  [
    "half of an answer",
    (_, response) =>
      void response.writeHead(200, { "Content-Length": 9 }).write("{", () => response.destroy()),
    "store_failed",
  ],
])("tells an endpoint from %s", async (_, listener, code) => {
  const admin = await endpoint(listener);
  await expect(admin.counts()).rejects.toMatchObject({ name: "HoldfastError", code });
});

it("sends its token, and what is asked for", async () => {
  const seen: unknown[] = [];
  const admin = await endpoint((request, response) => {
    const { authorization } = request.headers;
    seen.push([request.method, request.url, authorization]);
    response.end("[]");
  });
  await admin.list({ states: ["failed", "running"], principal: null, text: "a&b" });
  await admin.list({ principal: "ann" });
  await admin.failures("a/b", 5);
  const authorization = "Bearer token-of-ann";
  expect(seen).toEqual([
    ["GET", "/admin/tasks?state=failed&state=running&nobody=true&text=a%26b", authorization],
    ["GET", "/admin/tasks?principal=ann", authorization],
    ["GET", "/admin/failures/a%2Fb?limit=5", authorization],
  ]);
});

it("needs no token where its fetch says who asks", async () => {
  const seen: unknown[] = [];
  const { origin } = await served((request, response) => {
    const { authorization, cookie } = request.headers;
    seen.push([authorization, cookie]);
    response.end("[]");
  });
  const withCookie: typeof fetch = async function (this: unknown, url, init) {
    expect(this).toBeUndefined();
    const headers = new Headers(init?.headers);
    headers.set("Cookie", "session=ann");
    return fetch(url, { ...init, headers });
  };
  await remoteAdmin(`${origin}/admin`, { fetch: withCookie }).webhooks();
  expect(seen).toEqual([[undefined, "session=ann"]]);
  expect(() => remoteAdmin(`${origin}/admin`, {})).toThrow(
    expect.objectContaining({ code: "configuration" }),
  );
});

it("does not send what JSON would change", async () => {
  const requests: unknown[] = [];
  const admin = await endpoint((request, response) => {
    requests.push(request.url);
    response.end("{}");
  });
  const act = admin.as("ann");
  for (const until of [Number.NaN, Infinity])
    await expect(act.extend("a", until)).rejects.toMatchObject({ code: "invalid_params" });
  await expect(admin.list({ states: [] })).rejects.toMatchObject({ code: "invalid_params" });
  expect(requests).toEqual([]);
});

it("ends with its signal", async () => {
  const asked = Promise.withResolvers<void>();
  const { origin } = await served(() => asked.resolve());
  const over = new AbortController();
  const admin = remoteAdmin(`${origin}/admin`, { token: "t", signal: over.signal });
  const counts = admin.counts();
  counts.catch(() => undefined);
  await asked.promise;
  over.abort(new Error("The operator has left."));
  await expect(counts).rejects.toThrow("The operator has left.");
  await expect(admin.counts()).rejects.toThrow("The operator has left.");
});

it("takes a URL and a token that can be one", () => {
  const wrong = expect.objectContaining({ code: "configuration" }) as Error;
  for (const url of [
    "",
    "tasks.db",
    "ftp://host/admin",
    "http://ann:pw@host/admin",
    "http://host/admin?a",
    "http://host/#a",
  ])
    expect(() => remoteAdmin(url, { token: "t" })).toThrow(wrong);
  for (const token of ["", "two words", "ü", "line\n"])
    expect(() => remoteAdmin("http://host/admin", { token })).toThrow(wrong);
});
