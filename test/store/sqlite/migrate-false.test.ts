import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { migrate, migrations } from "../../../src/store/sqlite/schema.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { refuseForeignFile } from "../../../src/store/sqlite/writer-connection.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

const refusal = (name?: string): Promise<unknown> =>
  sqliteStore(temp.path(name), { migrate: false })
    .open(someOwner())
    .catch((error: unknown) => error);

test("with migrate: false a file that is there and up to date is opened as any other", async () => {
  await (await temp.open()).write(createQueued("a"));
  const beside = await temp.open(undefined, { migrate: false });
  expect(await beside.unfinished("", 10)).toHaveLength(1);
  expect((await beside.renew()).others).toBe(1);
});

test("with migrate: false a missing file is not made, nor a folder for it", async () => {
  expect(await refusal()).toMatchObject({
    code: "store_unusable",
    message: `There is no file ${temp.path()}.`,
  });
  expect(await refusal("folder/tasks.db")).toMatchObject({ code: "store_unusable" });
  await mkdir(temp.path("tasks"));
  expect(await refusal("tasks")).toMatchObject({ message: `${temp.path("tasks")} is not a regular file.` });
  expect(await readdir(temp.path("."))).toEqual(["tasks"]);
});

test("with migrate: false a file of an older schema, and an empty one, are refused and left as they are", async () => {
  const db = new DatabaseSync(temp.path());
  migrate(db);
  db.close();
  await writeFile(temp.path("empty.db"), "");
  const [before, files] = [await readFile(temp.path()), await readdir(temp.path("."))];
  const newer = [...migrations, "CREATE TABLE newer (a)"];
  expect(() => refuseForeignFile(temp.path(), false, newer)).toThrow(
    `${temp.path()} was written by an older version of Holdfast (schema ${migrations.length}; this version needs schema ${newer.length})`,
  );
  expect(() => refuseForeignFile(temp.path(), true, newer)).not.toThrow();
  expect(await refusal("empty.db")).toMatchObject({
    code: "store_unusable",
    message: `${temp.path("empty.db")} is empty. Start a server on it first: it creates the tables.`,
  });
  expect(await readFile(temp.path())).toEqual(before);
  expect(await readFile(temp.path("empty.db"), "utf8")).toBe("");
  expect(await readdir(temp.path("."))).toEqual(files);
});
