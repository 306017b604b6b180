import { get, type IncomingMessage, type RequestListener } from "node:http";
import { createAdminHandler } from "holdfast/http";
import { remoteAdmin } from "holdfast/client";
import { expect, it, onTestFinished, vi } from "vitest";
import type { TaskChanges } from "../../../src/admin/admin.ts";
import { served } from "../http-mount/mount.ts";
import { ask, operated } from "./operated.ts";

const headers = { Authorization: "Bearer token-of-bob" };
const streamType = "text/event-stream";

/** An event of the stream of some server, as it is on the wire. */
const eventOf = (tasks: readonly string[] | null): string => `data: ${JSON.stringify({ tasks })}\n\n`;

/** What is told, until there is a word of a task, or the stream ends. */
async function until(reads: AsyncIterator<TaskChanges>, id: string): Promise<boolean> {
  for (;;) {
    const { done, value } = await reads.next();
    if (done === true) return false;
    if (value.tasks?.includes(id) === true) return true;
  }
}

it("tells operators which tasks change, as they do", async () => {
  const { origin, peer, remote } = await operated();
  const response = await fetch(`${origin}/admin/changes`, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe(streamType);
  expect(response.headers.get("cache-control")).toMatch("no-store");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe(`retry: 1000\n\n${eventOf(null)}`);
  const over = new AbortController();
  const reads = remote().changes({ signal: over.signal })[Symbol.asyncIterator]();
  expect(await reads.next()).toEqual({ done: false, value: { tasks: null } });
  const id = await peer.start("asks");
  expect(await until(reads, id)).toBe(true);
  expect((await reader?.read())?.value).toMatch(id);
  over.abort();
  expect((await reads.next()).done).toBe(true);
  await reader?.cancel();
});

it("refuses strangers, and ends the wait of a client whose token is not accepted", async () => {
  const { origin, remote } = await operated();
  expect(await ask(`${origin}/admin/changes`, "GET", { token: null })).toMatchObject({ status: 401 });
  const reads = remote("other").changes()[Symbol.asyncIterator]();
  await expect(reads.next()).rejects.toMatchObject({ code: "unauthenticated" });
});

it("opens a hundred streams at a time, and one more where one was closed", async () => {
  const { origin, errors } = await operated();
  const all: IncomingMessage[] = [];
  const open = (): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get(`${origin}/admin/changes`, { headers, agent: false }, resolve).on("error", reject);
    });
  onTestFinished(() => all.forEach((stream) => stream.destroy()));
  for (let count = 0; count < 100; count++) all.push(await open());
  expect(new Set(all.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  const refused = await ask(`${origin}/admin/changes`, "GET");
  expect(refused).toMatchObject({ status: 503, body: { error: { code: "limit_reached" } } });
  expect(refused.headers.get("retry-after")).toBe("5");
  all.pop()?.destroy();
  await expect.poll(async () => (await ask(`${origin}/admin/changes`, "GET")).status).toBe(200);
  expect(errors).toEqual([]);
});

it("ends its streams as it closes", async () => {
  const { origin, http, errors } = await operated();
  const response = await fetch(`${origin}/admin/changes`, { headers });
  const all = response.text();
  await http.close();
  expect(await all).toBe(`retry: 1000\n\n${eventOf(null)}`);
  expect(errors).toEqual([]);
});

it("sends a comment where nothing changes, and ends a stream that is long open", async () => {
  const { tasks } = await operated();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const ofAnn = createAdminHandler(tasks, {
    allowedHosts: "any",
    authenticate: async () => ({ actor: "ann" }),
  });
  onTestFinished(() => ofAnn.close());
  const response = await ofAnn.fetch(new Request("http://reports.example/admin/changes"));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await reader?.read();
  const comment = reader?.read();
  await vi.advanceTimersByTimeAsync(15_000);
  expect((await comment)?.value).toBe(": keepalive\n\n");
  const rest = (async () => {
    for (;;) if ((await reader?.read())?.done !== false) return "over";
  })();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await rest).toBe("over");
});

/** An endpoint that answers one request after the other as it is told to. */
async function endpoint(...answers: readonly RequestListener[]): Promise<AsyncIterator<TaskChanges>> {
  let count = 0;
  const { origin } = await served((request, response) => {
    const answer = answers[Math.min(count++, answers.length - 1)];
    answer?.(request, response);
  });
  const over = new AbortController();
  onTestFinished(() => over.abort());
  return remoteAdmin(`${origin}/admin`, { token: "t" })
    .changes({ signal: over.signal })
    [Symbol.asyncIterator]();
}

const begins =
  (...told: readonly string[]): RequestListener =>
  (_request, response) => {
    response.writeHead(200, { "Content-Type": streamType });
    for (const text of ["retry: 1\n\n", ...told]) response.write(text);
  };
const breaks =
  (...told: readonly string[]): RequestListener =>
  (request, response) => {
    begins(...told)(request, response);
    response.write("data: {", () => response.destroy());
  };
const ends =
  (...told: readonly string[]): RequestListener =>
  (request, response) => {
    begins(...told)(request, response);
    response.end();
  };
const away: RequestListener = (_request, response) => void response.writeHead(502).end("<html>");
const refuses: RequestListener = (_request, response) =>
  void response.writeHead(403).end('{"error":{"code":"insufficient_scope","message":"no"}}');

it("opens a stream again that broke or ended, until it is refused", async () => {
  const reads = await endpoint(
    ends(eventOf(null), eventOf(["a"])),
    away,
    breaks(eventOf(null), `${eventOf(["b"]).slice(0, 12)}`, eventOf(["b"]).slice(12)),
    (_request, response) => void response.destroy(),
    begins(eventOf(null), ": keepalive\n\n", eventOf(["c", "d"])),
  );
  const told: unknown[] = [];
  while (told.length < 6) told.push(((await reads.next()).value as TaskChanges).tasks);
  expect(told).toEqual([null, ["a"], null, ["b"], null, ["c", "d"]]);
  await reads.return?.();
});

it("rejects where it is refused after a while, and where there is no such endpoint", async () => {
  const reads = await endpoint(ends(eventOf(null)), refuses);
  await reads.next();
  await expect(reads.next()).rejects.toMatchObject({ code: "insufficient_scope" });
  for (const answer of ["<html>", '{"tasks":null}']) {
    const none = await endpoint((_request, response) => void response.end(answer));
    await expect(none.next()).rejects.toMatchObject({ code: "configuration" });
  }
});
