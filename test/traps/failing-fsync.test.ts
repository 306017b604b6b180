import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runChild } from "../store/sqlite/child.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";

const temp = useTempDirectory();
const program = new URL("./fail-fsync.ts", import.meta.url);

// Descriptors can be found and redirected where the kernel lists them: on Linux.
test.runIf(existsSync("/proc/self/fd"))(
  "a failing fsync rejects its whole group, and the next group goes to a file that was opened anew",
  async () => {
    const lines = await runChild(program, [temp.path()]).rest();
    expect(lines).toEqual([
      "kept a",
      "kept b",
      expect.stringMatching(/^lost c .*Nothing was written: disk I\/O error/),
      expect.stringMatching(/^lost d .*Nothing was written: disk I\/O error/),
      "kept e",
      "kept f",
      "told task-a task-b task-e task-f",
    ]);
    const db = new DatabaseSync(temp.path(), { readOnly: true });
    try {
      const ids = db.prepare("SELECT id FROM task ORDER BY id").all();
      expect(ids.map(({ id }) => id)).toEqual(["task-a", "task-b", "task-e", "task-f"]);
      expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    } finally {
      db.close();
    }
  },
);
