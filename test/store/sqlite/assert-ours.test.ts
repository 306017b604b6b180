import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { assertOurs, migrate } from "../../../src/store/sqlite/schema.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

test.each([0, 1, 2, 3])(
  "a file in which another process makes its tables after %i reads is not taken for another program's",
  (reads) => {
    const other = new DatabaseSync(temp.path());
    other.exec("PRAGMA journal_mode = WAL");
    const db = new DatabaseSync(temp.path(), { readOnly: true });
    onTestFinished(() => {
      for (const each of [db, other]) each.close();
    });
    const prepare = db.prepare.bind(db);
    let left = reads;
    db.prepare = (sql) => {
      if (left-- === 0) migrate(other);
      return prepare(sql);
    };
    expect(() => assertOurs(db, temp.path())).not.toThrow();
    expect(db.isTransaction).toBe(false);
  },
);
