import { expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import type { Message } from "../kit/messages.ts";
import { EventStream } from "../kit/session-client.ts";
import { SessionHost } from "./session-host.ts";

/** An author's server whose tool `waits` answers when the test says so, and which can say something at any time. */
function waiting(limits?: { maxEvents: number; maxBytes: number }) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const host = new SessionHost({
    ...(limits !== undefined && { limits }),
    server: (mcp) => {
      mcp.registerTool("waits", {}, async () => ({ content: [{ type: "text", text: await promise }] }));
    },
  });
  const say = (data: string): Promise<void> | undefined =>
    host.servers[0]?.server.sendLoggingMessage({ level: "info", data });
  return { host, say, answer: resolve };
}

const dataOf = (messages: (Message | undefined)[]): unknown[] =>
  messages.map((message) => (message?.["params"] as Message | undefined)?.["data"]);

it("sends what a client missed on its stream, once, and goes on [B-091 B-092 B-096]", async () => {
  const { host, say } = waiting();
  const peer = await host.open();
  const leaving = new AbortController();
  const stream = await peer.listen(undefined, { signal: leaving.signal });
  await say("one");
  await say("two");
  const [one, two] = [await stream.next(), await stream.next()];
  expect(dataOf([one?.message, two?.message])).toEqual(["one", "two"]);
  leaving.abort();
  await rest();
  await say("three");
  const again = await peer.listen(one?.id);
  await say("four");
  const seen = [await again.next(), await again.next(), await again.next()];
  expect(dataOf(seen.map((event) => event?.message))).toEqual(["two", "three", "four"]);
  const ids = [one, ...seen].map((event) => event?.id);
  expect(new Set(ids).size).toBe(4);
  expect(ids[1]).toBe(two?.id);
});

it("answers a call to the client that comes back for it, and then has nothing more for it", async () => {
  const { host, answer } = waiting();
  const peer = await host.open();
  const leaving = new AbortController();
  const broken = await peer.begin("tools/call", { name: "waits", arguments: {} }, { signal: leaving.signal });
  const opened = await broken.any();
  expect(opened).toMatchObject({ id: expect.any(String) as unknown, message: undefined });
  leaving.abort();
  await rest();
  const resumed = await peer.listen(opened?.id);
  answer("done");
  const answered = await resumed.next();
  expect(answered?.message).toMatchObject({ result: { content: [{ text: "done" }] } });
  expect(await resumed.next()).toBeUndefined();
  const late = await peer.listen(opened?.id);
  expect(await late.rest()).toEqual([answered?.message]);
  // It would be asked for again and again if it were opened and ended at once.
  const over = await peer.send("GET", { headers: { "last-event-id": answered?.id ?? "" } });
  expect(over.status).toBe(405);
});

it.each(["", "x", "LOG-1-99999", "LOG-99999-1", "00000000-1-1", "LOG-1", "LOG-1-1-1", "LOG-01x-1"])(
  "has no stream for the event id %j",
  async (form) => {
    const host = new SessionHost();
    const peer = await host.open();
    const opened = await (await peer.begin("tools/call", { name: "echo", arguments: { say: "" } })).any();
    const id = form.replace("LOG", opened?.id?.slice(0, 8) ?? "");
    const response = await peer.send("GET", { headers: { "last-event-id": id } });
    // An empty header is none.
    expect(response.status).toBe(id === "" ? 200 : 405);
    await response.body?.cancel();
  },
);

it.each([
  ["messages", { maxEvents: 3, maxBytes: 1_000_000 }],
  ["bytes", { maxEvents: 1_000, maxBytes: 330 }],
])("keeps no more %s than it may, and of those the newest", async (_, limits) => {
  const { host, say } = waiting(limits);
  const peer = await host.open();
  const leaving = new AbortController();
  const stream = await peer.listen(undefined, { signal: leaving.signal });
  for (let n = 10; n < 60; n++) await say(`message ${n}`);
  const first = await stream.next();
  const other = await host.open(); // what one session said is nothing to another one
  const foreign = await other.listen(first?.id);
  await host.servers[1]?.server.sendLoggingMessage({ level: "info", data: "to the other" });
  expect(dataOf([await foreign.message()])).toEqual(["to the other"]);
  leaving.abort();
  await rest();
  const again = await peer.listen(first?.id);
  const left = [await again.message(), await again.message(), await again.message()];
  expect(dataOf(left)).toEqual(["message 57", "message 58", "message 59"]);
});

it("does not keep a message that is too large, nor drop others for it", async () => {
  const { host, say } = waiting({ maxEvents: 10, maxBytes: 200 });
  const peer = await host.open();
  const leaving = new AbortController();
  const stream = await peer.listen(undefined, { signal: leaving.signal });
  await say("start");
  const start = await stream.next();
  await say("small");
  await say("x".repeat(500));
  leaving.abort();
  await rest();
  const again = await peer.listen(start?.id);
  await say("new");
  expect(dataOf([await again.message(), await again.message()])).toEqual(["small", "new"]);
});

it("ends the response of a poll that was cancelled, which has no stream", async () => {
  const asked = Promise.withResolvers<void>();
  const host = new SessionHost({
    server: ({ server }) => {
      server.fallbackRequestHandler = () => {
        asked.resolve();
        return new Promise(() => undefined);
      };
    },
  });
  const peer = await host.open();
  const poll = peer.post({ id: "p", method: "tasks/get", params: { taskId: "t" } });
  await asked.promise;
  await peer.post({ method: "notifications/cancelled", params: { requestId: "p" } });
  expect(await (await poll).json()).toEqual({
    jsonrpc: "2.0",
    id: "p",
    error: { code: -32_603, message: "Cancelled" },
  });
  expect(host.errors).toEqual([]);
});

it("gives a call's stream to who asks for it again, though nobody noticed that it was gone, time and again", async () => {
  const { host, answer } = waiting();
  const peer = await host.open();
  const call = await peer.begin("tools/call", { name: "waits", arguments: {} });
  const opened = await call.any();
  const first = await peer.listen(opened?.id);
  expect(await call.any()).toBeUndefined();
  // Before any message, the client knows where to go on.
  const again = await first.any();
  expect(again).toEqual(opened);
  const second = await peer.listen(again?.id);
  expect(await first.any()).toBeUndefined();
  answer("done");
  expect(await second.message()).toMatchObject({ result: { content: [{ text: "done" }] } });
});

it("ends the stream of an older request whose id comes again", async () => {
  const { host, answer } = waiting();
  const peer = await host.open();
  const body = { id: "twice", method: "tools/call", params: { name: "waits", arguments: {} } };
  const first = new EventStream(await peer.post(body));
  const second = new EventStream(await peer.post(body));
  expect(await first.rest()).toEqual([]);
  answer("done");
  expect(await second.message()).toMatchObject({ id: "twice", result: {} });
});

it("sends what the client of a session missed that had heard nothing before", async () => {
  const { host, say } = waiting();
  const peer = await host.open();
  const leaving = new AbortController();
  const opened = await (await peer.listen(undefined, { signal: leaving.signal })).any();
  leaving.abort();
  await rest();
  await say("missed");
  expect(dataOf([await (await peer.listen(opened?.id)).message()])).toEqual(["missed"]);
});

it("ends the stream of a call that was cancelled, and has nothing more for it", async () => {
  const { host } = waiting();
  const peer = await host.open();
  const stream = new EventStream(
    await peer.post({ id: "c", method: "tools/call", params: { name: "waits", arguments: {} } }),
  );
  const opened = await stream.any();
  await peer.post({ method: "notifications/cancelled", params: { requestId: "c" } });
  expect(await stream.rest()).toEqual([]);
  const again = await peer.send("GET", { headers: { "last-event-id": opened?.id ?? "" } });
  expect(again.status).toBe(405);
  expect(host.errors).toEqual([]);
});
