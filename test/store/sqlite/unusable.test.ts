import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { sqliteStore, type SqliteStoreOptions } from "../../../src/store/sqlite/sqlite-store.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

async function refusal(name = "tasks.db", options?: SqliteStoreOptions): Promise<string> {
  const problem: unknown = await sqliteStore(temp.path(name), options)
    .open(someOwner())
    .catch((error: unknown) => error);
  expect(problem).toMatchObject({ name: "HoldfastError", code: "store_unusable" });
  return String(problem);
}

function database(sql: string, name = "tasks.db"): void {
  const db = new DatabaseSync(temp.path(name));
  db.exec(sql);
  db.close();
}

describe("open refuses", () => {
  test("a file that is no database, and leaves it as it is", async () => {
    await writeFile(temp.path(), "These are my notes.\n".repeat(100));
    expect(await refusal()).toContain(`${temp.path()} cannot be used: file is not a database`);
    expect(await readFile(temp.path(), "utf8")).toBe("These are my notes.\n".repeat(100));
    expect(await readdir(temp.path("."))).toEqual(["tasks.db"]);
  });

  test("a directory", async () => {
    await mkdir(temp.path());
    expect(await refusal()).toContain(`${temp.path()} is a directory`);
    expect(await readdir(temp.path("."))).toEqual(["tasks.db"]);
  });

  test("a path below a file", async () => {
    await writeFile(temp.path("file"), "");
    expect(await refusal("file/tasks.db")).toContain(temp.path("file/tasks.db"));
  });

  test("links that go in a circle", async () => {
    await symlink(temp.path("b.db"), temp.path("a.db"));
    await symlink(temp.path("a.db"), temp.path("b.db"));
    expect(await refusal("a.db")).toContain("a.db");
  });

  test("a lock that cannot be taken because something else has its name", async () => {
    await mkdir(temp.path("tasks.db.lock"));
    expect(await refusal()).toContain(temp.path("tasks.db.lock"));
    await writeFile(temp.path("other.db.lock"), "not a lock of ours, by its content".repeat(50));
    expect(await refusal("other.db")).toContain(temp.path("other.db.lock"));
  });

  test.each([
    ["tables and no mark", "CREATE TABLE note (text)"],
    ["the mark of another program", "PRAGMA application_id = 42"],
    ["a schema version of its own", "PRAGMA user_version = 3"],
  ])("the database of another program, known by %s, and leaves no trace", async (_, sql) => {
    database(sql);
    const before = await readFile(temp.path());
    expect(await refusal()).toContain(`${temp.path()} is the SQLite database of another program`);
    expect((await readFile(temp.path())).equals(before)).toBe(true);
    expect(await readdir(temp.path("."))).toEqual(["tasks.db"]);
  });

  test("the database of another program that is in use there, log and all", async () => {
    const stranger = new DatabaseSync(temp.path());
    try {
      stranger.exec("PRAGMA journal_mode = WAL; CREATE TABLE note (text); INSERT INTO note VALUES ('mine')");
      await refusal();
      stranger.exec("INSERT INTO note VALUES ('too')");
      expect(stranger.prepare("SELECT count(*) AS n FROM note").get()).toEqual({ n: 2 });
      expect(stranger.prepare("PRAGMA application_id").get()).toEqual({ application_id: 0 });
      expect(await readdir(temp.path("."))).not.toContain("tasks.db.lock");
    } finally {
      stranger.close();
    }
  });

  test("a database from a newer version, and leaves it as it is", async () => {
    const store = await temp.open();
    await store.write(createQueued("a"));
    await store.close();
    database("PRAGMA user_version = 1000");
    const before = await readFile(temp.path());
    expect(await refusal()).toContain("newer version of Holdfast (schema 1000");
    expect((await readFile(temp.path())).equals(before)).toBe(true);
  });

  test("a limit that not even the tables fit into, and the same file serves without it", async () => {
    expect(await refusal("tasks.db", { maxBytes: 8192 })).toContain("full");
    const store = await temp.open();
    expect(await store.write(createQueued("a"))).toMatchObject({ ok: true });
  });

  test("a database whose tables are gone, and frees it again", async () => {
    await (await temp.open()).close();
    database("ALTER TABLE journal RENAME TO gone");
    expect(await refusal()).toContain("lacks table journal, ");
    database("ALTER TABLE gone RENAME TO journal");
    await temp.open();
  });

  test("a database of another version with as many migrations: a column too few, or one that it cannot fill", async () => {
    await (await temp.open()).close();
    database("ALTER TABLE owner DROP COLUMN drain_until");
    expect(await refusal()).toContain("lacks column drain_until of owner: another version of Holdfast");
    database("ALTER TABLE owner ADD COLUMN drain_until INTEGER; ALTER TABLE task ADD COLUMN hue TEXT");
    await (await temp.open()).close();
    database(`DROP TABLE paused_tool;
      CREATE TABLE paused_tool (tool TEXT PRIMARY KEY, since INTEGER NOT NULL, actor TEXT NOT NULL, shade TEXT NOT NULL) STRICT`);
    expect(await refusal()).toContain(
      "needs values for what this version does not know: column shade of paused_tool",
    );
  });

  test("a database without one of its indexes, and leaves nothing open", async () => {
    await (await temp.open()).close();
    database("DROP INDEX journal_open_input");
    expect(await refusal()).toContain("lacks index journal_open_input: ");
    expect((await readdir(temp.path("."))).toSorted()).toEqual([
      "tasks.db",
      "tasks.db.lock",
      "tasks.db.owners",
    ]);
    database(
      "CREATE INDEX journal_open_input ON journal (task_id, place) WHERE kind = 'input' AND done_at IS NULL",
    );
    await temp.open();
  });
});

test("an empty file, or an empty database, is taken", async () => {
  await writeFile(temp.path("empty.db"), "");
  database("CREATE TABLE t (a); DROP TABLE t", "dropped.db");
  for (const name of ["empty.db", "dropped.db"]) {
    const store = await temp.open(name);
    expect(await store.write(createQueued("a"))).toMatchObject({ ok: true });
  }
});

test("missing directories are made", async () => {
  const store = await temp.open("some/where/tasks.db");
  expect(await store.write(createQueued("a"))).toMatchObject({ ok: true });
});

test("what cannot be a file or an option is a mistake of configuration", () => {
  const isConfiguration = expect.objectContaining({ code: "configuration" });
  expect(() => sqliteStore("")).toThrow(isConfiguration);
  expect(() => sqliteStore(":memory:")).toThrow(isConfiguration);
  expect(() => sqliteStore("a.db", { maxBytes: 0 })).toThrow(isConfiguration);
  expect(() => sqliteStore("a.db", { busyTimeoutMs: Number.NaN })).toThrow(isConfiguration);
});
