import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it, type TestContext, vi } from "vitest";
import { withTask } from "../../src/generation/sep-1686.ts";
import { fullForm } from "../full-form.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { LoadedServer } from "../load/loaded-server.ts";
import { coreTask } from "../load/phases.ts";
import { placeInFile, placeInPostgres, type Place } from "../places/place.ts";
import { defaultSchema } from "../places/store-at.ts";
import { withClient } from "../postgres/with-client.ts";
import type { MatrixHeld } from "./matrix-server.ts";

/** Calls of each kind of client: in the full form after some for warming up. */
const calls = fullForm ? 10_000 : 40;
const warming = fullForm ? 2_000 : calls;
const atOnce = 20;
/** Tools that are called. Others come and go, and on one of all 50 a queue stands. */
const lasting = 42;
/** With all of them (ms). */
const mostClaim = 20;
const standing = 100;
/** How long the server keeps what has ended (ms): on a busy machine a client may come for a result much later than it could. */
const keepMs = fullForm ? 30_000 : 10_000;
/** What of the heap may stay behind of so many calls. What V8 has compiled and sized anew meanwhile is not that, so the best of some rounds counts. */
const mostHeap = 1024 * 1024;
const rounds = 4;
/** That a server opens once, with the first that comes. */
const files = 4;

type OnTestFinished = TestContext["onTestFinished"];

type Kind = "SQLite" | "Postgres" | "memory";
const cells: readonly (readonly [Kind, "on" | "off"])[] = [
  ["SQLite", "on"],
  ["Postgres", "off"],
  ["memory", "on"],
  ...(fullForm
    ? ([
        ["SQLite", "off"],
        ["Postgres", "on"],
        ["memory", "off"],
      ] as const)
    : []),
];

type Call = (name: string, say: string) => Promise<string>;

interface Caller {
  readonly call: Call;
  readonly end: () => Promise<unknown>;
}

const headers = { authorization: "Bearer ann" };
const textOf = (result: unknown): string =>
  (result as { content?: readonly [{ text: string }] } | undefined)?.content?.[0].text ?? "";

async function session(url: string, version: string, callIn: (peer: SessionClient) => Call): Promise<Caller> {
  const peer = await SessionClient.open(url, { headers, version });
  return { call: callIn(peer), end: () => peer.send("DELETE") };
}

/** A client of each generation of tasks, and one that knows none. */
const clients: Readonly<Record<string, (url: string) => Promise<Caller>>> = {
  "2026-07-28": async (url) => {
    const peer = new StatelessClient(url);
    const call: Call = async (name, say) => {
      const taskId = await peer.start(name, { say }, { headers });
      for (;;) {
        const task = await peer.get(taskId, { headers });
        if (task["status"] !== "working") return textOf(task["result"]);
      }
    };
    return { call, end: () => Promise.resolve() };
  },
  "2025-11-25": (url) =>
    session(url, "2025-11-25", (peer) => async (name, say) => {
      const taskId = await coreTask(peer, name, { say });
      return textOf((await peer.request("tasks/result", { taskId }))["result"]);
    }),
  "SEP-1686": (url) =>
    session(url, "2025-11-25", (peer) => async (name, say) => {
      const params = withTask({ name, arguments: { say } }, { taskId: crypto.randomUUID() });
      return textOf((await peer.request("tools/call", params))["result"]);
    }),
  "no tasks": (url) =>
    session(
      url,
      "2025-06-18",
      (peer) => async (name, say) => textOf((await peer.call(name, { say }))["result"]),
    ),
};

/** Calls tools in turn, some at a time, and checks each result. */
async function callMany(url: string, generation: string, count: number): Promise<void> {
  const caller = await clients[generation]?.(url);
  assert(caller !== undefined);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++)
      assert.equal(await caller.call(`echo_${n % lasting}`, `${generation} ${n}`), `${generation} ${n}`);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await caller.end();
}

/** What the tables have, without what owners tell one another. */
async function rowsIn(at: string): Promise<Readonly<Record<string, number>>> {
  const isKept = (table: string): boolean =>
    !/secret|owner|committed|news|change|sqlite|meta|version|report|usage/.test(table);
  if (!at.startsWith("postgres:")) {
    using db = new DatabaseSync(at, { readOnly: true });
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const names = tables.map(({ name }) => String(name)).filter(isKept);
    return Object.fromEntries(
      names.map((name) => [name, Number(db.prepare(`SELECT count(*) AS n FROM "${name}"`).get()?.["n"])]),
    );
  }
  return withClient(at, async (client) => {
    const found = await client.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1",
      [defaultSchema],
    );
    const counts: Record<string, number> = {};
    for (const { name } of found.rows.filter((row) => isKept(row.name))) {
      const { rows } = await client.query<{ n: string }>(
        `SELECT count(*) AS n FROM ${defaultSchema}."${name}"`,
      );
      counts[name] = Number(rows[0]?.n);
    }
    return counts;
  });
}

async function placeOf(kind: Kind, onTestFinished: OnTestFinished): Promise<Place | undefined> {
  if (kind === "memory") return undefined;
  const folder = await mkdtemp(join(tmpdir(), "holdfast-matrix-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  if (kind === "SQLite") return placeInFile(join(folder, "tasks.db"));
  const place = await placeInPostgres();
  onTestFinished(() => place.remove());
  return place;
}

type Server = LoadedServer<MatrixHeld>;

/** What it holds in its heap: the least of some times, since what it does later counts until then. */
async function heapOf(server: Server): Promise<number> {
  const found: number[] = [];
  const often = async (): Promise<boolean> => found.push((await server.held()).heap) >= rounds;
  await vi.waitUntil(often, { timeout: 120_000, interval: 500 });
  return Math.min(...found);
}

/** How much of the heap stays behind of so many calls, at best. */
async function heapLeft(server: Server, generation: string): Promise<number> {
  let before = await heapOf(server);
  let least = Infinity;
  for (let round = 0; round < rounds && least > mostHeap; round++) {
    await callMany(server.url, generation, calls);
    const heap = await heapOf(server);
    least = Math.min(least, heap - before);
    before = heap;
  }
  return least;
}

// Most of their time is spent waiting until what has ended is over.
(fullForm ? it : it.concurrent).for(cells)(
  `%s, telemetry %s: ${calls} calls of each kind of client leave nothing behind, beside a queue that stands`,
  { timeout: 3_600_000 },
  async ([kind, telemetry], { expect, onTestFinished }) => {
    const place = await placeOf(kind, onTestFinished);
    const start = (): Promise<Server> =>
      LoadedServer.start<MatrixHeld>(new URL("./matrix-server.ts", import.meta.url), [
        place?.at ?? "memory",
        telemetry,
        String(lasting),
        String(keepMs),
      ]);
    let server = await start();
    onTestFinished(() => void server.kill().catch(() => undefined));
    const crowd = new StatelessClient(server.url);
    const ids = await Promise.all(
      Array.from({ length: standing }, () => crowd.start("stands", {}, { headers })),
    );
    const before = place && (await rowsIn(place.at));
    if (place !== undefined) {
      // What it had begun, the next one ends, whoever called.
      const interrupted = Object.keys(clients).map((generation) => callMany(server.url, generation, atOnce));
      const ended = Promise.allSettled(interrupted);
      await Promise.race(interrupted.map((each) => each.catch(() => undefined)));
      await place.killed(await server.kill());
      await ended;
      server = await start();
    }
    const { descriptors } = await server.held();
    for (const generation of Object.keys(clients)) {
      await callMany(server.url, generation, warming);
      if (!fullForm) continue;
      const left = await heapLeft(server, generation);
      console.log(`${kind}, telemetry ${telemetry}, ${generation}: ${left} bytes stay of ${calls} calls`);
      expect.soft(left, generation).toBeLessThanOrEqual(mostHeap);
    }
    const { claimP99 } = await server.held();
    if (fullForm) {
      console.log(`${kind}, telemetry ${telemetry}: claims take ${claimP99.toFixed(1)} ms (p99)`);
      expect.soft(claimP99).toBeLessThanOrEqual(mostClaim);
    }
    const over = Date.now() + keepMs;
    const patience = { timeout: 120_000, interval: 250 };
    await vi.waitUntil(async () => (await server.held()).descriptors <= descriptors + files, patience);
    if (place !== undefined) {
      await vi.waitUntil(() => Date.now() > over, patience);
      expect([await server.stop(), server.stderr]).toEqual([0, ""]);
      server = await start(); // deletes at once what is over, which would otherwise take up to a minute
      await expect.poll(() => rowsIn(place.at), patience).toEqual(before);
    }
    const still = new StatelessClient(server.url);
    const shown = await Promise.all(ids.map((id) => still.get(id, { headers })));
    expect(new Set(shown.map(({ status }) => status))).toEqual(new Set(["working"]));
    expect([await server.stop(), server.stderr]).toEqual([0, ""]);
  },
);
