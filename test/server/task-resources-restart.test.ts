import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tasks } from "holdfast";
import type { Authenticate } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import type { TaskStore } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { FreshSchema } from "../postgres/test-database.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

const authenticate: Authenticate = async () => "ann";

type MakeStore = () => TaskStore;
type ReadText = (uri: string) => Promise<string>;

const stores: readonly [string, () => Promise<MakeStore>][] = [
  [
    "SQLite",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "holdfast-lines-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      return () => sqliteStore(join(folder, "tasks.db"));
    },
  ],
  [
    "Postgres",
    async () => {
      const fresh = await FreshSchema.inSharedDatabase();
      onTestFinished(() => fresh.drop());
      return () => postgresStore(fresh.url, { schema: fresh.schema });
    },
  ],
];

/** A tool whose first run never ends, and whose second one has more to say. */
function index(tasks: Tasks): void {
  tasks.tool("index", {}, async (_, task) => {
    await task.log("info", "begins", { pages: 2 });
    await task.output("page 1");
    await task.step("read", async () => {
      await task.log("debug", "reads");
      if (task.attempt === 1) await new Promise(() => undefined);
    });
    await task.log("notice", "ends");
    await task.output("page 2");
    return text("indexed");
  });
}

interface Way {
  readonly start: () => Promise<string>;
  readonly read: ReadText;
}

function textOf(result: unknown): string {
  const { contents } = result as { contents: { text: string }[] };
  return contents[0]?.text ?? "";
}

function in2026(url: string): Way {
  const peer = new StatelessClient(url);
  return {
    start: () => peer.start("index"),
    read: async (uri) =>
      textOf(await peer.result("resources/read", { uri }, { headers: { "Mcp-Name": uri } })),
  };
}

async function inSession(url: string): Promise<Way> {
  const peer = await SessionClient.open(url);
  return {
    start: async () => {
      const created = await peer.request("tools/call", { name: "index", arguments: {}, task: {} });
      return (created["result"] as { task: { taskId: string } }).task.taskId;
    },
    read: async (uri) => textOf((await peer.request("resources/read", { uri }))["result"]),
  };
}

/** What is in the list once it has so many lines. */
async function readTo(count: number, uri: string, read: ReadText): Promise<readonly unknown[]> {
  for (;;) {
    const lines = (await read(uri)).split("\n").slice(0, -1);
    if (lines.length >= count) return lines.map((line) => JSON.parse(line) as unknown);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;
const log = [
  { seq: 1, at, level: "info", text: "begins", data: { pages: 2 } },
  { seq: 2, at, level: "debug", text: "reads", step: "read" },
  { seq: 3, at, level: "notice", text: "ends" },
];
const output = [
  { seq: 1, at, content: { type: "text", text: "page 1" } },
  { seq: 2, at, content: { type: "text", text: "page 2" } },
];

it.each(stores)("a log and an output are read on by the next server: %s", async (_, open) => {
  const makeStore = await open();
  const next = () => serve({ tools: index, http: { authenticate }, options: { store: makeStore() } });
  const first = await next();
  const before = [in2026(first.http.url), await inSession(first.http.url)];
  const ids = await Promise.all(before.map(({ start }) => start()));
  const seen = await Promise.all(
    before.map(async ({ read }, nth) => readTo(2, `task://${ids[nth]}/log`, read)),
  );
  expect(seen).toEqual([log.slice(0, 2), log.slice(0, 2)]);
  await first.http.close();

  const second = await next();
  for (const [nth, { read }] of [in2026(second.http.url), await inSession(second.http.url)].entries()) {
    const uri = `task://${ids[nth]}`;
    expect(await readTo(1, `${uri}/log?after=2`, read)).toEqual(log.slice(2));
    expect(await readTo(1, `${uri}/output?after=1`, read)).toEqual(output.slice(1));
    // The lines of the first run are those that it gave, with their times.
    const whole = await readTo(3, `${uri}/log`, read);
    expect(whole).toEqual(log);
    expect(whole.slice(0, 2)).toEqual(seen[nth]);
    expect(await readTo(2, `${uri}/output?after=0`, read)).toEqual(output);
    expect(await readTo(0, `${uri}/log?after=3`, read)).toEqual([]);
    expect(await readTo(0, `${uri}/output?after=999999999999999`, read)).toEqual([]);
  }
  expect(second.errors).toEqual([]);
});
