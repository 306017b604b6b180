import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { bodyOf, text } from "../../runtime/harness.ts";
import { RealRuntime } from "../../traps/real-runtime.ts";
import { runChild } from "./child.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const program = new URL("./full-at-start.ts", import.meta.url);

// No file may grow: all writes fail with a true I/O error, whoever runs the test.
test.runIf(process.platform !== "win32")(
  "a server whose disk is full starts, reads results, and refuses new tasks with the reason",
  async () => {
    const before = await RealRuntime.started(sqliteStore(temp.path()), { quick: () => text("quick") });
    // As after a crash, the log and its index are still there.
    using holder = new DatabaseSync(temp.path());
    expect(holder.prepare("SELECT count(*) AS n FROM task").get()).toEqual({ n: 0 });
    const id = await before.call("quick");
    expect(bodyOf(await before.ended(id))).toEqual(text("quick"));
    await before.runtime.stop();
    const full = (command: readonly string[]) => ["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", ...command];
    const [outcome = "", refusal = ""] = await runChild(program, [temp.path(), id], full).rest();
    expect(JSON.parse(outcome)).toMatchObject({ kind: "result", body: JSON.stringify(text("quick")) });
    expect(refusal).toContain("Nothing was written: disk I/O error");
    // With room again, the store serves as before.
    const after = await RealRuntime.started(sqliteStore(temp.path()), { quick: () => text("again") });
    expect(bodyOf(await after.ended(await after.call("quick")))).toEqual(text("again"));
    await after.runtime.stop();
  },
);
