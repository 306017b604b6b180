import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pool } from "pg";
import type { ChannelSetup } from "../../../src/store/postgres/change-channel.ts";
import type { News } from "../../../src/store/postgres/news.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";
import { ChannelEnd } from "./channel-ends.ts";

let schema: FreshSchema;
let ends: ChannelEnd[];

beforeEach(async () => {
  schema = await FreshSchema.inSharedDatabase();
  ends = [];
});

afterEach(async () => {
  await Promise.all(ends.map((end) => end.close()));
});

function makeEnd(owner: string, changed?: Partial<ChannelSetup>): ChannelEnd {
  const end = addEnd(owner, changed);
  void end.channel.start();
  return end;
}

function addEnd(owner: string, changed?: Partial<ChannelSetup>): ChannelEnd {
  const end = new ChannelEnd(schema, owner, changed);
  ends.push(end);
  return end;
}

async function listeningEnd(owner: string, changed?: Partial<ChannelSetup>): Promise<ChannelEnd> {
  const end = addEnd(owner, changed);
  await end.channel.start();
  return end;
}

/** What comes before it has come too. */
const mark: News = { sessions: ["mark"] };
const isMarked = (heard: readonly unknown[]): boolean =>
  JSON.stringify(heard.at(-1) ?? null).includes("mark");

const changesOf = (heard: readonly unknown[]): unknown[] =>
  heard.flatMap((news) => (typeof news === "object" && news !== null && "tasks" in news ? news.tasks : []));

/** The connections that listen, as the server knows them. */
const listeners = async (): Promise<number[]> => {
  const { rows } = await withClient(schema.url, (client) =>
    client.query<{ pid: number }>("select pid from pg_stat_activity where query = $1", [
      `LISTEN "holdfast_${schema.schema}"`,
    ]),
  );
  return rows.map(({ pid }) => pid);
};

/** A database whose statements wait, and end as the test says. */
class HeldDatabase implements Pick<Database, "query"> {
  readonly sent: unknown[] = [];
  readonly #waiting: { readonly go: () => void; readonly fail: (error: Error) => void }[] = [];
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async query(...[sql, values = []]: Parameters<Database["query"]>): ReturnType<Database["query"]> {
    this.sent.push(values);
    await new Promise<void>((go, fail) => this.#waiting.push({ go, fail }));
    return this.#database.query(sql, values);
  }

  async go(): Promise<void> {
    await vi.waitFor(() => expect(this.#waiting.length).toBe(1));
    this.#waiting.shift()?.go();
  }

  async fail(): Promise<void> {
    await vi.waitFor(() => expect(this.#waiting.length).toBe(1));
    this.#waiting.shift()?.fail(new Error("down"));
  }
}

const withHeldDatabase = async (work: (database: HeldDatabase) => Promise<void>): Promise<void> => {
  const pool = new Pool({ connectionString: schema.url, max: 1 });
  await work(new HeldDatabase(new Database(pool, 10_000)));
  await pool.end();
};

test("tells the others in order, and nobody hears its own", async () => {
  const [a, b, c] = await Promise.all(["a", "b", "c"].map((owner) => listeningEnd(owner)));
  const changes = Array.from({ length: 50 }, (_, index) => ({
    id: `task "${index}" \u0000é\ud800`,
    version: index,
  }));
  for (const change of changes) a?.tell({ tasks: [change] });
  a?.tell({ tasks: [{ id: "gone", version: null }], sessions: ["s"], messages: true, work: "all" });
  for (const other of [b, c]) {
    const heard = await other?.until((all) => all.at(-1) === "work");
    expect(changesOf(heard ?? [])).toEqual([...changes, { id: "gone", version: null }]);
    expect(heard?.slice(-3)).toEqual([{ sessions: ["s"] }, "messages", "work"]);
  }
  b?.tell(mark);
  await a?.until(isMarked);
  expect(a?.heard).toEqual([]);
});

test("sends together what is told while a notification is under way, and of a task only the newest", async () => {
  await withHeldDatabase(async (database) => {
    const b = await listeningEnd("b");
    const a = makeEnd("a", { connect: undefined, database });
    a.tell({ tasks: [{ id: "one", version: 1 }] });
    for (let version = 2; version < 100; version++) a.tell({ tasks: [{ id: "one", version }], work: "all" });
    a.tell({ tasks: [{ id: "two", version: 1 }] });
    a.tell({ tasks: [{ id: "one", version: 100 }] });
    await database.go();
    await database.go();
    const heard = await b.until((all) => all.at(-1) === "work");
    expect(heard).toEqual([
      { tasks: [{ id: "one", version: 1 }] },
      {
        tasks: [
          { id: "two", version: 1 },
          { id: "one", version: 100 },
        ],
      },
      "work",
    ]);
    expect(database.sent.length).toBe(2);
  });
});

test("splits what is too long for one notification, and says only that there is a gap beyond that", async () => {
  const [a, b] = [await listeningEnd("a"), await listeningEnd("b")];
  const many = Array.from({ length: 2_000 }, (_, index) => ({
    id: `${"ü".repeat(40)}-${index}`,
    version: index,
  }));
  a.tell({ tasks: many });
  a.tell(mark);
  const heard = await b.until(isMarked);
  expect(changesOf(heard)).toEqual(many);
  expect(heard.length).toBeGreaterThan(10);
  a.tell({ tasks: [...many, { id: "one more", version: 1 }], sessions: ["lost in it"] });
  expect(await b.until((all) => all.at(-1) === "work")).toEqual(["gap", "messages", "work"]);
  a.tell({ tasks: [{ id: "x".repeat(8_000), version: 1 }] });
  expect(await b.until((all) => all.at(-1) === "work")).toEqual(["gap", "messages", "work"]);
});

test("listens again when its connection was cut, and says that it may have missed something", async () => {
  const [a, b] = [await listeningEnd("a"), await listeningEnd("b")];
  const pids = await listeners();
  await withClient(schema.url, (client) =>
    client.query("select pg_terminate_backend(pid) from unnest($1::int[]) as pid", [pids]),
  );
  await b.listens();
  expect(b.clients.length).toBe(2);
  a.tell(mark);
  expect(await b.until(isMarked)).toEqual([{ sessions: ["mark"] }]);
});

test("tries on until it can connect, and polls meanwhile", async () => {
  let tries = 0;
  const end: ChannelEnd = makeEnd("a", {
    pollIntervalMs: 5,
    connect: () => (++tries < 3 ? Promise.reject(new Error("away")) : end.connect(schema.url)),
  });
  await end.until(() => end.clients.length === 1);
  expect(tries).toBe(3);
});

test("replaces a connection that does not answer", async () => {
  const end = makeEnd("a", {
    pollIntervalMs: 2,
    connect: async () => {
      const client = await end.connect(schema.url);
      // After something was told, what the server sends does not arrive any more.
      if (end.clients.length === 1) client.once("notification", () => client.connection.stream.pause());
      return client;
    },
  });
  const other = await listeningEnd("b");
  await end.until(() => {
    other.tell(mark);
    return end.clients.length === 2;
  });
});

test("says later that there is a gap when a notification failed", async () => {
  await withHeldDatabase(async (database) => {
    const b = await listeningEnd("b");
    const a = makeEnd("a", { connect: undefined, database });
    a.tell({ tasks: [{ id: "one", version: 1 }] });
    await database.fail();
    await vi.waitFor(() => expect(database.sent.length).toBe(2)); // by itself
    a.tell({ tasks: [{ id: "two", version: 1 }] });
    await database.fail();
    await database.go();
    expect(await b.until((all) => all.at(-1) === "work")).toEqual(["gap", "messages", "work"]);
    a.tell(mark);
    await database.go();
    expect(await b.until(isMarked)).toEqual([{ sessions: ["mark"] }]);
  });
});

test.each([
  "",
  "{",
  "null",
  "[]",
  '{"owner":"x","tasks":[["one"]]}',
  '{"owner":"x","sessions":[1]}',
  '{"tasks":[]}',
])("takes a payload that it does not understand for a gap: %j", async (payload) => {
  const end = await listeningEnd("a");
  await withClient(schema.url, (client) =>
    client.query("select pg_notify($1, $2)", [`holdfast_${schema.schema}`, payload]),
  );
  expect(await end.until((all) => all.at(-1) === "work")).toEqual(["gap", "messages", "work"]);
});

test("says on and on that there may be a gap where it does not listen", async () => {
  const end = makeEnd("a", { connect: undefined, pollIntervalMs: 1 });
  const heard = await end.until((all) => all.length >= 9);
  expect(heard.slice(0, 9)).toEqual([
    "gap",
    "messages",
    "work",
    "gap",
    "messages",
    "work",
    "gap",
    "messages",
    "work",
  ]);
});

test("goes on when a listener throws", async () => {
  const warnings = vi.spyOn(process, "emitWarning").mockReturnValue();
  const other = await listeningEnd("b");
  const end: ChannelEnd = await listeningEnd("a", {
    listener: {
      tasks: () => {
        throw new Error("mine");
      },
      sessions: (sessions) => end.hear({ sessions }),
      messages: () => undefined,
      work: () => undefined,
      heard: () => undefined,
    },
  });
  other.tell({ tasks: [{ id: "one", version: 1 }], ...mark });
  expect(await end.until(isMarked)).toEqual([{ sessions: ["mark"] }]);
  expect(warnings).toHaveBeenCalled();
  warnings.mockRestore();
});

test("sends what was told before it closes, and leaves neither a connection nor a timer", async () => {
  const b = await listeningEnd("b");
  const a = await listeningEnd("a");
  expect(await listeners()).toHaveLength(2);
  a.tell({ tasks: [{ id: "one", version: 1 }] });
  a.tell({ tasks: [{ id: "last", version: 2 }] });
  await a.close();
  a.tell(mark);
  expect(changesOf(await b.until((all) => changesOf(all).length === 2))).toHaveLength(2);
  await vi.waitFor(async () => expect(await listeners()).toHaveLength(1));
  await b.close();
  await vi.waitFor(async () => expect(await listeners()).toHaveLength(0));
  ends = [];
});

test("who is alone tells nobody, and all that it has changed to whoever comes", async () => {
  const a = await listeningEnd("a");
  a.channel.looking()(true);
  const early = await listeningEnd("early");
  a.tell({ tasks: [{ id: "task-0", version: 1 }] }); // between its register and its gap
  early.channel.send("gap");
  expect(await early.until((heard) => heard.includes("work"))).toContain("gap");
  a.tell({ tasks: [{ id: "task-1", version: 1 }] });
  a.tell(mark);
  expect(changesOf(await early.until(isMarked))).toEqual([{ id: "task-1", version: 1 }]);
});

test("a look that began before it heard of others makes nobody alone, and one that finds them tells them all", async () => {
  const [a, b] = [await listeningEnd("a"), await listeningEnd("b")];
  const looked = a.channel.looking();
  b.tell(mark);
  await a.until(isMarked);
  looked(true);
  a.tell(mark);
  await b.until(isMarked);

  a.channel.looking()(true);
  a.tell({ tasks: [{ id: "task-0", version: 1 }] });
  a.channel.looking()(false);
  expect(await b.until((heard) => heard.includes("work"))).toContain("gap");
  a.tell(mark);
  expect(changesOf(await b.until(isMarked))).toEqual([]);
});

test("one that cannot hear others is never alone, nor one that could not for a while", async () => {
  const [a, deaf] = [await listeningEnd("a"), await listeningEnd("deaf", { connect: undefined })];
  deaf.channel.looking()(true);
  deaf.tell(mark);
  await a.until(isMarked);
  const b = await listeningEnd("b");
  a.channel.looking()(true);
  a.clients[0]?.connection.stream.destroy();
  expect(await b.until((heard) => heard.includes("work"))).toContain("gap");
});
