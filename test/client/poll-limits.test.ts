import { describe, expect, it } from "vitest";
import { completed, created, sent, taskId, working } from "./answers.ts";
import type { Answer } from "./scripted-server.ts";
import { setUp } from "./setup.ts";

const second = 1000;

const shown = {
  taskId,
  status: "working",
  createdAt: "2026-10-01T00:00:00Z",
  lastUpdatedAt: "2026-10-01T00:00:00Z",
  ttlMs: null,
};

/** What may ask for patience between two polls, in seconds. */
interface Asked {
  readonly server: number;
  readonly caller?: number;
  readonly floor?: number;
  readonly retryAfter?: number;
}

function retryAfterHeader(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}

const cases: readonly [Asked, number][] = [
  [{ server: 2 }, 2],
  [{ server: 2, caller: 5 }, 5],
  [{ server: 6, caller: 5 }, 6],
  [{ server: 2, caller: 1 }, 2],
  [{ server: 2, caller: 3, floor: 4 }, 4],
  [{ server: 2, retryAfter: 9 }, 9],
  [{ server: 12, retryAfter: 9 }, 12],
  [{ server: 2, caller: 20, retryAfter: 9 }, 20],
  [{ server: 2, retryAfter: 0 }, 2],
];

describe("the time between two polls is the largest of all that is asked for", () => {
  it.each(cases)("after an answer: %j is %i s [X-050]", async (asked, seconds) => {
    const { server, client, clock } = await setUp({ pollFloorMs: (asked.floor ?? 0) * second });
    server.script("tools/call", created({ pollIntervalMs: 0 }));
    server.script(
      "tasks/get",
      ({ id }) => {
        const result = { ...shown, pollIntervalMs: asked.server * second };
        const headers = { "content-type": "application/json", ...retryAfterHeader(asked.retryAfter) };
        return { status: 200, headers, body: JSON.stringify({ jsonrpc: "2.0", id, result }) };
      },
      completed(),
    );
    const pollIntervalMs = asked.caller === undefined ? undefined : asked.caller * second;
    expect(await client.callTool("publish_report", {}, { pollIntervalMs })).toEqual(sent);
    expect(clock.naps.at(-1)).toBe(seconds * second);
  });

  it.each(cases)("after a failure: %j is %i s [X-050]", async (asked, seconds) => {
    for (const status of [429, 503]) {
      const { server, client, clock } = await setUp({ pollFloorMs: (asked.floor ?? 0) * second });
      server.script("tools/call", created({ pollIntervalMs: asked.server * second }));
      server.script("tasks/get", { status, headers: retryAfterHeader(asked.retryAfter) }, completed());
      const pollIntervalMs = asked.caller === undefined ? undefined : asked.caller * second;
      expect(await client.callTool("publish_report", {}, { pollIntervalMs })).toEqual(sent);
      expect(clock.naps.at(-1)).toBe(seconds * second);
    }
  });

  it("with failures in a row: it grows beyond what was asked for, up to a limit", async () => {
    const { server, client, clock } = await setUp();
    const away = Array.from({ length: 9 }, () => ({ status: 503 }));
    server.script("tools/call", created({ ttlMs: null }));
    server.script("tasks/get", ...away, completed());
    expect(await client.callTool("publish_report", {}, { pollIntervalMs: 3 * second })).toEqual(sent);
    expect(clock.naps).toEqual([...Array.from({ length: 6 }, () => 3000), 4000, 7500, 7500, 7500]);
  });

  it("and up to a tenth more, so that many do not poll in step", async () => {
    const { server, client, clock } = await setUp();
    clock.chance = 0.999_999;
    server.script("tools/call", created());
    server.script("tasks/get", { status: 429, headers: { "retry-after": "9" } }, working(), completed());
    expect(await client.callTool("publish_report", {}, { pollIntervalMs: 3 * second })).toEqual(sent);
    expect(clock.naps).toEqual([3300, 9900, 3300]);
  });

  it("as JSON-RPC errors ask for it too", async () => {
    const { server, client, clock } = await setUp();
    const error = { code: -32000, message: "too fast", data: { retryAfterMs: 7000 } };
    server.script("tools/call", created());
    server.script("tasks/get", { error }, completed());
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([2000, 7000]);
  });
});

describe("a Retry-After", () => {
  it.each([
    ["in seconds", { status: 429, headers: { "retry-after": "99999999" } }, 3600 * second],
    ["of more digits than a number has", { status: 429, headers: { "retry-after": "9".repeat(400) } }, 2000],
    [
      "as a date",
      { status: 503, headers: { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" } },
      3600 * second,
    ],
  ])("silences a client for an hour at most, %s", async (_, tooMuch, ms) => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ ttlMs: null }));
    server.script("tasks/get", tooMuch, completed());
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual([2000, ms]);
  });

  it.each([
    ["1e12", [2000, 3600 * second]],
    ["1e999", [2000, 2000]],
  ])("of %s ms in an error too", async (retryAfterMs, naps) => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ ttlMs: null }));
    const body = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"later","data":{"retryAfterMs":${retryAfterMs}}}}`;
    const headers = { "content-type": "application/json" };
    server.script(
      "tasks/get",
      ({ id }) => ({ status: 200, headers, body: body.replace("ID", JSON.stringify(id)) }),
      completed(),
    );
    expect(await client.callTool("publish_report")).toEqual(sent);
    expect(clock.naps).toEqual(naps);
  });
});

describe("several who wait for one task", () => {
  it("are polled for as often as the most eager of them wants, while that one waits", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created({ pollIntervalMs: second }));
    server.script("tasks/get", working({ pollIntervalMs: second }), completed());
    clock.hold();
    const handle = await client.startTool("publish_report");
    const patient = handle.result({ pollIntervalMs: 30 * second });
    await clock.nap(30 * second);
    const leaving = new AbortController();
    const eager = handle.result({ pollIntervalMs: 5 * second, signal: leaving.signal });
    (await clock.nap(5 * second)).wake();
    await clock.nap(5 * second);
    leaving.abort(new Error("no patience"));
    await expect(eager).rejects.toThrow("no patience");
    (await clock.nap(30 * second)).wake();
    expect(await patient).toEqual(sent);
    expect(server.of("tasks/get")).toHaveLength(2);
  });

  it("keep to a Retry-After that was told to another, who has left", async () => {
    const { server, client, clock } = await setUp();
    server.script("tools/call", created());
    server.script("tasks/get", { status: 429, headers: { "retry-after": "60" } }, completed());
    clock.hold();
    const handle = await client.startTool("publish_report");
    const leaving = new AbortController();
    const first = handle.result({ signal: leaving.signal });
    (await clock.nap(2000)).wake();
    await clock.nap(60_000);
    leaving.abort(new Error("no patience"));
    await expect(first).rejects.toThrow("no patience");
    const later = handle.result();
    (await clock.nap(60_000)).wake();
    expect(await later).toEqual(sent);
    expect(server.of("tasks/get")).toHaveLength(2);
  });
});

it("polls 200 times a second at most, and 64 at once, for however many tasks", async () => {
  const { server, client, clock } = await setUp({ pollFloorMs: 0 });
  const reference = { server: server.url, generation: "2026-07-28" };
  const ids = Array.from({ length: 400 }, (_, n) => `task-${n}`);
  const open = Promise.withResolvers<void>();
  let [underWay, most] = [0, 0];
  server.script(
    "tasks/get",
    ...ids.map(() => async ({ params }: { params: Record<string, unknown> }): Promise<Answer> => {
      most = Math.max(most, ++underWay);
      if (underWay === 64) setImmediate(open.resolve);
      await open.promise;
      underWay--;
      return working({ taskId: params["taskId"], pollIntervalMs: 0 });
    }),
  );
  clock.hold();
  const waits = ids.map(async (id) => (await client.resume({ ...reference, taskId: id })).result());
  const ends = Promise.allSettled(waits);
  for (const _ of ids) await clock.nap(2000);
  expect(most).toBe(64);
  expect(server.of("tasks/get")).toHaveLength(400);
  await client.close();
  await ends;
  expect(clock.armed).toBe(0);
});

it.each([
  ["timeoutMs", -1],
  ["timeoutMs", Number.NaN],
  ["pollIntervalMs", -1],
  ["pollIntervalMs", Infinity],
  ["pollIntervalMs", "soon"],
  ["unreachableTimeoutMs", "3 days"],
])("refuses %s of %s", async (name, ms) => {
  const { server, client } = await setUp();
  const handle = await client.resume({ server: server.url, generation: "2026-07-28", taskId });
  for (const wait of [
    handle.result({ [name]: ms }),
    handle.get({ [name]: ms }),
    handle.cancel({ [name]: ms }),
  ])
    await expect(wait).rejects.toThrow(RangeError);
  await expect(client.callTool("publish_report", {}, { [name]: ms })).rejects.toThrow(RangeError);
  expect(server.seen.map(({ method }) => method)).toEqual(["server/discover"]);
});
