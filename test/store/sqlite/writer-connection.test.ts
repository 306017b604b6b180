import { expect, test } from "vitest";
import { number } from "../../../src/store/sqlite/schema.ts";
import { openWriterConnection } from "../../../src/store/sqlite/writer-connection.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();

test("the writing connection asks for everything that durability needs", () => {
  const db = openWriterConnection({
    path: temp.path(),
    busyTimeoutMs: 7,
    maxBytes: 409_600,
    migrate: true,
  });
  try {
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    const settings = ["synchronous", "fullfsync", "checkpoint_fullfsync", "busy_timeout", "max_page_count"];
    const values = settings.map((name) => number(db, `PRAGMA ${name}`));
    expect(values).toEqual([2, 1, 1, 3, Math.floor(409_600 / number(db, "PRAGMA page_size"))]);
  } finally {
    db.close();
  }
});
