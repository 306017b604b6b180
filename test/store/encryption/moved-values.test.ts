import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { sqliteStore } from "holdfast/sqlite";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { expect, onTestFinished, test } from "vitest";
import { createRunning, noon } from "../../../src/testing/sample-task.ts";

const keys = [{ id: "k1", key: Buffer.alloc(32, 7) }];

async function openedIn(folder: string, name: string): Promise<{ store: TaskStore; path: string }> {
  const path = join(folder, `${name}.db`);
  const store = encryptedStore(sqliteStore(path), { keys });
  await store.open({ id: name, handlers: [] });
  onTestFinished(() => store.close());
  return { store, path };
}

/** Stores something in every column that is encrypted, all of which says whose it is. */
async function live(store: TaskStore, name: string): Promise<void> {
  const id = `task-${name}`;
  const held = { now: noon, id, token: "t1" } as const;
  const said = (what: string): string => JSON.stringify(`${what} of ${name}`);
  await store.write({
    ...createRunning(name, { principal: name }),
    request: {
      origin: {
        capabilities: {},
        caller: { clientId: `app of ${name}` },
        trace: {
          traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
          baggage: said("baggage"),
        },
      },
      arguments: said("arguments"),
      prepared: said("prepared"),
    },
  });
  const progress = { progress: 1, message: `progress of ${name}` };
  await store.write({ type: "update", ...held, changes: { statusMessage: `status of ${name}`, progress } });
  await store.write({ type: "record_step", ...held, key: "step", value: said("step"), error: null });
  await store.write({ type: "record_step", ...held, key: "other", value: null, error: said("error") });
  const input = { key: "ask", method: "elicitation/create", params: said("question") } as const;
  await store.write({ type: "open_input", ...held, input, requestHash: "h", deadlineAt: null });
  const event = { now: noon, id, name: "event", value: said("event"), dedupeId: null, limit: 9 };
  await store.write({ type: "send_event", ...event });
  const line = { at: noon, step: "", place: 0 };
  await store.write({
    type: "append",
    ...held,
    lines: [
      { ...line, list: "log", seq: 1, body: said("log") },
      { ...line, list: "log", seq: 2, body: said("second log") },
      { ...line, list: "output", seq: 1, body: said("output") },
    ],
    forget: [],
  });
  await store.messages?.put(id, { body: said("message"), bound: false }, null);
  await store.sessions?.put(
    { id: `session-${name}`, principal: name, expiresAt: noon, state: said("session") },
    { ofPrincipal: 9, total: 9 },
  );
  const ended = createRunning(`${name}-ended`, { principal: name });
  await store.write(ended);
  await store.write({
    type: "settle",
    ...held,
    id: `task-${name}-ended`,
    outcome: { kind: "result", body: said("result") },
    statusMessage: `end of ${name}`,
    stack: `stack of ${name}`,
  });
}

/** Everything that a server would read for the caller `name`; what cannot be read is the code of its fault. */
async function readAll(store: TaskStore, name: string): Promise<readonly unknown[]> {
  const id = `task-${name}`;
  const reads = [
    () => store.get(id),
    () => store.snapshot(id),
    () => store.request(id),
    () => store.journalEntry(id, "step"),
    () => store.journalEntry(id, "other"),
    () => store.journalEntry(id, "ask"),
    async () => (await store.journal(id, "", 9)).entries.map(({ key, requestHash }) => [key, requestHash]),
    () => store.journalEnds(id, ["step", "other"]),
    () => store.logs?.read(id, "log", 0, 9),
    () => store.logs?.read(id, "output", 0, 9),
    () => store.sessions?.get(`session-${name}`),
    () => store.get(`${id}-ended`),
    () => store.snapshot(`${id}-ended`),
    () => store.request(`${id}-ended`),
  ];
  const read: unknown[] = [];
  for (const each of reads)
    read.push(await Promise.resolve(each()).catch(({ code }: { code: string }) => code));
  return read;
}

interface Found {
  readonly table: string;
  readonly column: string;
  readonly key: Readonly<Record<string, SQLInputValue>>;
  readonly whole: string;
  /** The encrypted text in the column's value. */
  readonly sealed: string;
}

/** Every encrypted text in a database, also inside of JSON. */
function sealedIn(db: DatabaseSync): readonly Found[] {
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  return tables.flatMap(({ name }) => {
    const table = String(name);
    const columns = db.prepare(`PRAGMA table_info(${table})`).all();
    const keyOf = columns.filter(({ pk }) => Number(pk) > 0).map((column) => String(column["name"]));
    return db
      .prepare(`SELECT * FROM ${table}`)
      .all()
      .flatMap((row) => {
        const key = Object.fromEntries(keyOf.map((column) => [column, row[column] ?? null]));
        return Object.entries(row).flatMap(([column, value]) => {
          const whole = typeof value === "string" ? value : "";
          return [...whole.matchAll(/enc2:k1:[\w-]+/g)].map(([sealed]) => ({
            table,
            column,
            key,
            whole,
            sealed,
          }));
        });
      });
  });
}

function put(db: DatabaseSync, { table, column, key }: Found, value: string): void {
  const where = Object.keys(key).map((part) => `${part} = ?`);
  const sql = `UPDATE ${table} SET ${column} = ? WHERE ${where.join(" AND ")}`;
  expect(db.prepare(sql).run(value, ...Object.values(key)).changes).toBe(1);
}

const isOf = (name: string, { key }: Found): boolean =>
  Object.values(key).some((part) => typeof part === "string" && part.endsWith(name));

test(
  "a value that is moved to any other row, column, task or store cannot be read there, and all else can",
  {
    timeout: 180_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-moved-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { store, path } = await openedIn(folder, "one");
    const { store: other, path: otherPath } = await openedIn(folder, "two");
    for (const name of ["ann", "bob"]) await live(store, name);
    await live(other, "bob");
    const db = new DatabaseSync(path, { timeout: 20_000 });
    const otherDb = new DatabaseSync(otherPath, { timeout: 20_000 });
    onTestFinished(() => [db, otherDb].forEach((each) => each.close()));
    const before = { ann: await readAll(store, "ann"), bob: await readAll(store, "bob") };
    expect(JSON.stringify(before.bob).match(/of bob/g)?.length).toBeGreaterThan(15);

    const here = sealedIn(db).filter(({ table }) => table !== "secret");
    const targets = here.filter((found) => isOf("bob", found) || isOf("bob-ended", found));
    expect(new Set(targets.map(({ table }) => table))).toEqual(
      new Set(["task", "request", "journal", "line", "session", "outcome"]),
    );
    const sources = [...here, ...sealedIn(otherDb)];
    for (const target of targets) {
      for (const { sealed } of sources) {
        if (sealed === target.sealed) continue;
        put(db, target, target.whole.replace(target.sealed, sealed));
        const bob = await readAll(store, "bob");
        expect([target, bob]).not.toEqual([target, before.bob]);
        const changed = bob.filter(
          (read, index) => JSON.stringify(read) !== JSON.stringify(before.bob[index]),
        );
        // A session that cannot be read counts as none.
        expect([
          target,
          sealed,
          changed.filter((read) => read !== undefined && read !== "task_unreadable"),
        ]).toEqual([target, sealed, []]);
        put(db, target, target.whole);
      }
      expect(await readAll(store, "ann")).toEqual(before.ann);
    }
    expect(await readAll(store, "bob")).toEqual(before.bob);
  },
);

async function oneStore() {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-moved-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { store, path } = await openedIn(folder, "one");
  const db = new DatabaseSync(path, { timeout: 20_000 });
  onTestFinished(() => db.close());
  return { folder, store, path, db };
}

const unreadable = { code: "task_unreadable" };

test.each([
  ["principal", "bob"],
  ["tool", "other"],
  ["scope", "other"],
  ["required_scopes", "none"],
  ["parent", '{"id":"task-bob","key":"call","root":"task-bob","cancelGraceMs":0}'],
  ["proof", null],
])("a row of which the %s was changed cannot be read", async (column, value) => {
  const { store, db } = await oneStore();
  await live(store, "ann");
  db.prepare(`UPDATE task SET ${column} = ? WHERE id = 'task-ann'`).run(value);
  await expect(store.get("task-ann")).rejects.toMatchObject(unreadable);
  await expect(store.snapshot("task-ann")).rejects.toMatchObject(unreadable);
});

test("a request whose session or scopes of tools were changed cannot be read", async () => {
  const { store, db } = await oneStore();
  await live(store, "ann");
  for (const change of ["'$.session', 'bobs'", "'$.toolScopes', json('{}')"]) {
    db.exec(`UPDATE request SET origin = json_set(origin, ${change}) WHERE task_id = 'task-ann'`);
    await expect(store.request("task-ann")).rejects.toMatchObject(unreadable);
    db.exec("UPDATE request SET origin = json_remove(origin, '$.session', '$.toolScopes')");
    expect(await store.request("task-ann")).toBeDefined();
  }
});

test("nothing of a task is read for others whose proof needs a key that nobody has", async () => {
  const { store, db } = await oneStore();
  await live(store, "ann");
  const forged = `enc2:zz:${"A".repeat(60)}`;
  db.prepare("UPDATE task SET principal = 'bob', proof = ? WHERE id LIKE 'task-ann%'").run(forged);
  for (const id of ["task-ann", "task-ann-ended"])
    await expect(store.snapshot(id)).rejects.toMatchObject(unreadable);
  await expect(store.logs?.read("task-ann", "log", 0, 9)).rejects.toMatchObject(unreadable);
});

test("the question of a task is not shown to those to whom it was made to belong", async () => {
  const { store, db } = await oneStore();
  for (const name of ["ann", "bob"]) await live(store, name);
  db.exec("INSERT INTO child (id, parent, root, key) VALUES ('task-ann', 'task-bob', 'task-bob', 'k')");
  db.exec("UPDATE task SET child_inputs = 1 WHERE id = 'task-bob'");
  const snapshot = await store.snapshot("task-bob");
  expect(snapshot?.inputs.map(({ key }) => key)).toEqual(["ask"]);
});

test("a status text that looks encrypted is one like any other", async () => {
  const { store } = await oneStore();
  await live(store, "ann");
  const statusMessage = `enc2:k1:${"A".repeat(60)}`;
  await store.write({ type: "update", now: noon, id: "task-ann", token: "t1", changes: { statusMessage } });
  expect(await store.get("task-ann")).toMatchObject({ statusMessage });
});

test("whoever deletes the secrets of a store makes all of it unreadable", async () => {
  const { store, path, db } = await oneStore();
  await live(store, "ann");
  db.exec("DELETE FROM secret WHERE name LIKE 'holdfast/encryption%'");
  const without = sqliteStore(path);
  await expect(without.open({ id: "plain", handlers: [] })).rejects.toMatchObject({ code: "store_unusable" });
  const again = encryptedStore(sqliteStore(path), { keys });
  await again.open({ id: "again", handlers: [] });
  onTestFinished(() => again.close());
  db.exec("UPDATE outcome SET body = '\"forged\"'");
  await expect(again.snapshot("task-ann-ended")).rejects.toMatchObject(unreadable);
  db.exec("DELETE FROM secret");
  const later = encryptedStore(sqliteStore(path), { keys });
  await expect(later.open({ id: "later", handlers: [] })).rejects.toMatchObject({ code: "store_unusable" });
});
