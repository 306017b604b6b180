import { spawnSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { bodyOf, text } from "../runtime/harness.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { RealRuntime, type RealHandler } from "./real-runtime.ts";

const temp = useTempDirectory();
const ownerProcess = fileURLToPath(new URL("../store/sqlite/owner-process.ts", import.meta.url));

/** Stops this thread, event loop and timers and all, until another one has committed what `sql` finds. */
function blockUntil(db: DatabaseSync, sql: string): boolean {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const query = db.prepare(sql);
  for (let waited = 0; waited < 20_000; waited += 5) {
    if (query.get() !== undefined) return true;
    Atomics.wait(sleeper, 0, 0, 5);
  }
  return false;
}

test("a handler that blocks the event loop loses nothing: not its task, not the file, not its neighbours", async () => {
  const onlooker = { committed: false, renewal: "" };
  const blocks: RealHandler = async (_, task) => {
    const db = new DatabaseSync(temp.path(), { readOnly: true });
    void task.status("about to block");
    await Promise.resolve(); // the write leaves for the writer's thread with the microtasks
    await Promise.resolve();
    onlooker.committed = blockUntil(db, "SELECT 1 FROM task WHERE status_message = 'about to block'");
    db.close();
    // Blocks for as long as another process takes to start, to open the file, and to look who is gone.
    const renew = { encoding: "utf8", input: "renew\n" } as const;
    onlooker.renewal = spawnSync(process.execPath, [ownerProcess, temp.path()], renew).stdout;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    return text(`attempt ${task.attempt}`);
  };
  const naps: RealHandler = async (_, task) =>
    task.sleep("nap", 200).then(() => text(`attempt ${task.attempt}`));
  const works: RealHandler = async (_, task) => {
    const parts = [];
    for (let n = 0; n < 5; n++) parts.push(await task.step(["part", n], () => n));
    return text(`${parts.join("")} in attempt ${task.attempt}`);
  };

  const real = await RealRuntime.started(sqliteStore(temp.path()), { blocks, naps, works });
  const nap = await real.call("naps");
  await real.until(nap, ({ task }) => task.waiting);
  const [work, block] = await Promise.all([real.call("works"), real.call("blocks")]);
  for (const id of [nap, block]) {
    const { task, outcome } = await real.ended(id);
    expect(JSON.parse(outcome?.body ?? "")).toEqual(text("attempt 1"));
    expect(task.crashes).toBe(0);
  }
  expect(bodyOf(await real.ended(work))).toEqual(text("01234 in attempt 1"));
  expect(onlooker.committed).toBe(true); // the writer's thread went on
  expect(onlooker.renewal).toContain('{"held":true,"gone":[],"others":1}'); // and nobody took this process for dead
  expect(real.errors).toEqual([]);
  await real.runtime.stop();
});
