import { expect, it } from "vitest";
import { EventMemory, type SharingLog } from "../../../src/server/http/sessions/event-log.ts";
import { responseOf } from "../../../src/server/http/exchange.ts";
import { UnreadBytes } from "../../../src/server/http/unread-bytes.ts";
import { TaskListeners } from "../../../src/server/http/task-listeners.ts";
import type { TaskServer } from "../../../src/server/task-server.ts";
import { rest } from "../../../src/testing/clocks.ts";
import { SessionHost } from "../session-host.ts";
import type { SessionClient } from "../../kit/session-client.ts";

const minute = 60_000;
const limits = { sessionIdleMs: 30 * minute, unusedSessionMs: minute };

async function isThere(peer: SessionClient): Promise<boolean> {
  return (await peer.post({ id: 1, method: "ping" })).status === 200;
}

it("lets another principal in where one has all sessions, at the cost of that one's idle ones", async () => {
  const host = new SessionHost({ ...limits, maxSessions: 4 });
  const busy = await host.open({}, "ann");
  await busy.listen();
  const idle = [await host.open({}, "ann"), await host.open({}, "ann")];
  const bob = await host.open({}, "bob");
  const carl = await host.open({}, "carl");
  expect(await Promise.all([busy, ...idle, bob, carl].map(isThere))).toEqual([true, false, true, true, true]);
  expect(host.sessions.size).toBe(4);
});

it("lets another in though no session of the largest is idle", async () => {
  const host = new SessionHost({ ...limits, maxSessions: 3 });
  const ann = [await host.open({}, "ann"), await host.open({}, "ann"), await host.open({}, "ann")];
  for (const peer of ann) await peer.listen();
  const bob = await host.open({}, "bob");
  expect(await Promise.all([...ann, bob].map(isThere))).toEqual([false, true, true, true]);
  await host.sessions.close();
});

it("never takes the place of who has fewer, however long that was idle", async () => {
  const host = new SessionHost({ ...limits, maxSessions: 3 });
  const bob = await host.open({}, "bob");
  await host.clock.advance(10 * minute);
  const ann = [await host.open({}, "ann"), await host.open({}, "ann")];
  expect((await host.peer({}, "ann").initialize()).status).toBe(503);
  await host.clock.advance(minute);
  await host.open({}, "ann"); // in the place of one of its own
  expect(await Promise.all([bob, ...ann].map(isThere))).toEqual([true, false, true]);
});

it("gives a principal its share and no more, and says so", async () => {
  const host = new SessionHost({ ...limits, maxSessions: 10, maxSessionsPerPrincipal: 2 });
  const ann = [await host.open({}, "ann"), await host.open({}, "ann")];
  const refused = await host.peer({}, "ann").initialize();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
  expect(await refused.json()).toMatchObject({
    id: 0,
    error: {
      code: -32_000,
      message: "You already have 2 open sessions, none of them idle. End one of them first.",
    },
  });
  expect(await Promise.all(ann.map(isThere))).toEqual([true, true]);
  await host.clock.advance(minute);
  await host.open({}, "ann");
  expect(await Promise.all(ann.map(isThere))).toEqual([false, true]);
  // Callers who are not told apart have no share, but all places.
  for (let n = 0; n < 8; n++) await host.open();
  expect(host.sessions.size).toBe(10);
});

it("forgets what the principal with most could have sent again before what others could", async () => {
  const filler = "x".repeat(1_000);
  const host = new SessionHost({ ...limits, memoryBytes: 10_000 });
  const say = (session: number, data: string): Promise<void> | undefined =>
    host.servers[session]?.server.sendLoggingMessage({ level: "info", data });
  const resumable = async (session: number, principal: string) => {
    const peer = await host.open({}, principal);
    const leaving = new AbortController();
    const stream = await peer.listen(undefined, { signal: leaving.signal });
    await say(session, "first");
    const first = await stream.next();
    leaving.abort();
    await rest();
    return { peer, from: first?.id };
  };
  const ann = await resumable(0, "ann");
  const bob = await resumable(1, "bob");
  await say(1, "for bob");
  for (let n = 0; n < 50; n++) await say(0, filler);
  await say(1, "more for bob");
  const missed = await bob.peer.listen(bob.from);
  for (const data of ["for bob", "more for bob"]) {
    expect(await missed.message()).toMatchObject({ params: { data } });
  }
  expect(await (await ann.peer.listen(ann.from)).message()).toMatchObject({ params: { data: filler } });
});

it("frees the memory of the largest, and does not look for it at every event", () => {
  const memory = new EventMemory(1_000);
  let looks = 0;
  class Log implements SharingLog {
    #events = 0;
    readonly #holder: string;
    constructor(holder: string) {
      this.#holder = holder;
    }
    get bytes(): number {
      looks += 1;
      return this.#events;
    }
    keep(): void {
      memory.makeRoom(1);
      this.#events += 1;
      memory.changed(this.#holder, this, 1);
    }
    dropOldest(): void {
      this.#events -= 1;
      memory.changed(this.#holder, this, -1);
    }
  }
  const small = new Log("bob");
  for (let n = 0; n < 10; n++) small.keep();
  const logs = Array.from({ length: 100 }, () => new Log("ann"));
  for (let n = 0; n < 2_000; n++) logs[n % 100]?.keep();
  expect(memory.bytes).toBeLessThanOrEqual(1_000);
  expect(small.bytes).toBe(10);
  looks = 0;
  for (let n = 0; n < 100; n++) logs[n]?.keep();
  expect(looks).toBeLessThan(100 * 100);
});

/** Listen requests that the SDK alone answers. */
function listening(listeners: TaskListeners) {
  return async (principal: string): Promise<{ status: number; text: () => Promise<string> }> => {
    const request = new Request("http://reports.example/mcp");
    const body = { jsonrpc: "2.0", id: principal, method: "subscriptions/listen", params: {} };
    const forward = async (): Promise<Response> =>
      new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });
    const response = responseOf(await listeners.serve(request, { principal }, body, forward));
    return { status: response.status, text: () => response.text() };
  };
}

it("ends the oldest stream of who listens most for another, and of nobody else", async () => {
  const listen = listening(new TaskListeners({} as TaskServer, new UnreadBytes(Infinity), 3));
  const [first] = [await listen("ann"), await listen("ann"), await listen("ann")];
  const refused = await listen("ann");
  expect([refused.status, JSON.parse(await refused.text())]).toMatchObject([
    429,
    { id: "ann", error: { code: -32_000, data: { retryAfterMs: 5_000 } } },
  ]);
  await listen("bob");
  expect(await first?.text()).toContain('"id":"ann"');
  expect((await listen("bob")).status).toBe(429);
});
