import { expect, it } from "vitest";
import { sessionKey } from "../../src/server/http/sessions/session-records.ts";
import { rest } from "../../src/testing/clocks.ts";
import { SessionHost } from "./session-host.ts";

/** A host whose session says what it hears of its streams. */
async function heard() {
  const host = new SessionHost();
  const peer = await host.open();
  const [streams] = host.streams;
  if (streams === undefined) throw new Error("no streams");
  const events: unknown[] = [];
  const stop = [
    streams.onStandalone((open) => events.push(open)),
    streams.onBroken((request) => events.push(request)),
  ];
  return { host, peer, streams, events, stop };
}

it("knows whether a message that belongs to no request reaches the client", async () => {
  const { peer, streams, events, stop } = await heard();
  expect(streams).toMatchObject({
    sessionKey: sessionKey(peer.sessionId ?? ""),
    initialized: true,
    standaloneOpen: false,
  });
  const leaving = new AbortController();
  await peer.listen(undefined, { signal: leaving.signal });
  expect([streams.standaloneOpen, events]).toEqual([true, [true]]);
  // One that is refused changes nothing.
  expect((await peer.send("GET", { headers: { "last-event-id": "nonsense" } })).status).toBe(405);
  expect(events).toEqual([true]);
  leaving.abort();
  await rest();
  expect([streams.standaloneOpen, events]).toEqual([false, [true, false]]);
  for (const end of stop) end();
  await peer.listen();
  expect([streams.standaloneOpen, events]).toEqual([true, [true, false]]);
});

it("gives the stream of the session to who asks for it again, though nobody noticed that it was gone", async () => {
  const { host, peer, streams, events } = await heard();
  const say = (data: string) => host.servers[0]?.server.sendLoggingMessage({ level: "info", data });
  const first = await peer.listen();
  await say("one");
  const one = await first.next();
  expect(one?.message).toMatchObject({ params: { data: "one" } });
  const resumed = await peer.listen(one?.id);
  await say("two");
  expect(await resumed.message()).toMatchObject({ params: { data: "two" } });
  expect(await first.rest()).toEqual([]);
  const fresh = await peer.listen();
  await say("three");
  expect(await fresh.message()).toMatchObject({ params: { data: "three" } });
  expect(await resumed.rest()).toEqual([]);
  // A break to all who wait for it: what was asked there is asked again.
  expect([streams.standaloneOpen, events]).toEqual([true, [true, false, true, false, true]]);
});

it("takes the stream of a request for broken when its id comes again, and not the newer one when the older ends", async () => {
  const { peer, events } = await heard();
  const [first, second] = [new AbortController(), new AbortController()];
  const body = { id: "twice", method: "tools/call", params: { name: "ask_user", arguments: {} } };
  await peer.post(body, { signal: first.signal });
  await peer.post(body, { signal: second.signal });
  expect(events).toEqual(["twice"]);
  first.abort();
  await rest();
  expect(events).toEqual(["twice"]);
  second.abort();
  await rest();
  expect(events).toEqual(["twice", "twice"]);
});

it("knows whose stream broke before its answer, and not those that were answered", async () => {
  const { peer, events } = await heard();
  const leaving = new AbortController();
  const params = { name: "ask_user", arguments: {} };
  const body = { id: "broken", method: "tools/call", params };
  const response = await peer.post(body, { signal: leaving.signal });
  await peer.call("echo", { say: "answered" });
  expect(events).toEqual([]);
  leaving.abort();
  await rest();
  expect(events).toEqual(["broken"]);
  expect(response.ok).toBe(true);
});

it("does not take the rest of a call's stream for the stream of the session", async () => {
  const { peer, streams, events } = await heard();
  const leaving = new AbortController();
  const params = { name: "ask_user", arguments: {} };
  const call = await peer.begin("tools/call", params, { signal: leaving.signal });
  const question = await call.next();
  leaving.abort();
  await rest();
  const resumed = await peer.listen(question?.id);
  expect([streams.standaloneOpen, events]).toEqual([false, [1]]);
  await peer.post({ id: question?.message?.["id"], result: { action: "decline" } });
  expect(await resumed.message()).toMatchObject({ id: 1, result: {} });
});

it("asks on the stream of the session where it is open, and else on the call's", async () => {
  const { peer } = await heard();
  const call = await peer.begin("tools/call", { name: "ask_user", arguments: {} });
  const onCall = await call.message();
  expect(onCall).toMatchObject({ method: "elicitation/create" });
  await peer.post({ id: onCall?.["id"], result: { action: "decline" } });
  expect(await call.message()).toMatchObject({ result: {} });
  const stream = await peer.listen();
  const next = await peer.begin("tools/call", { name: "ask_user", arguments: {} });
  const onStream = await stream.message();
  expect(onStream).toMatchObject({ method: "elicitation/create" });
  await peer.post({ id: onStream?.["id"], result: { action: "decline" } });
  expect(await next.message()).toMatchObject({ result: {} });
});

it("breaks the stream of a client that does not read, which can come back", async () => {
  const { host, peer, streams, events } = await heard();
  const stream = await peer.send("GET");
  const say = (data: string): Promise<void> | undefined =>
    host.servers[0]?.server.sendLoggingMessage({ level: "info", data });
  for (let n = 0; n < 40; n++) await say("x".repeat(1024 * 1024));
  await rest();
  expect([streams.standaloneOpen, events]).toEqual([false, [true, false]]);
  await expect(stream.text()).rejects.toThrow("is not reading");
  await peer.listen();
  expect(streams.standaloneOpen).toBe(true);
});
