import { describe, expect, onTestFinished, test } from "vitest";
import { reclaimGone } from "../../../src/testing/sample-task.ts";
import { sqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { createQueued } from "../../contract/sample-task.ts";
import { runChild, type Child } from "./child.ts";
import { someOwner } from "./some-owner.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const busyTimeoutMs = 1_500;

async function say(child: Child, expected: string): Promise<void> {
  child.send("");
  expect(await child.line()).toBe(expected);
}

/** Another owner of the file, which is stopped while it commits. */
async function stoppedInCommit(): Promise<Child> {
  const child = runChild(new URL("./committing-process.ts", import.meta.url), [temp.path()]);
  onTestFinished(() => child.kill("SIGKILL"));
  expect(await child.line()).toBe("open");
  await say(child, "begun");
  process.kill(child.pid, "SIGSTOP");
  return child;
}

/** Resolves with how long a write took to be refused, in milliseconds. */
async function refusalOf(store: TaskStore, name: string, pid: number): Promise<number> {
  const before = performance.now();
  const problem: unknown = await store.write(createQueued(name)).catch((error: unknown) => error);
  expect(problem).toMatchObject({ code: "store_failed" });
  expect(String(problem)).toContain(
    `Nothing was written: ${temp.path()} is locked by another program, which may be suspended; ` +
      `it is also open in process ${pid} on `,
  );
  return performance.now() - before;
}

describe.runIf(process.platform !== "win32")("while another process is stopped in a commit", () => {
  test("writes are refused, later ones sooner, reads and renewals go on, and all goes on with it", async () => {
    const store = await temp.open("tasks.db", { busyTimeoutMs });
    await store.write(createQueued("before"));
    const child = await stoppedInCommit();

    const first = await refusalOf(store, "a", child.pid);
    expect(first).toBeGreaterThan(busyTimeoutMs * 0.9);
    expect(await refusalOf(store, "b", child.pid)).toBeLessThan(first / 2);
    expect(await store.get("task-before")).toMatchObject({ statusMessage: null });
    expect(await store.renew()).toEqual({ held: true, gone: [], others: 1 });

    process.kill(child.pid, "SIGCONT");
    await say(child, "committed");
    expect(await store.write(createQueued("c"))).toMatchObject({ ok: true });
    expect(await store.get("task-before")).toMatchObject({ statusMessage: "in a commit" });

    await say(child, "begun");
    expect(await refusalOf(store, "d", child.pid)).toBeGreaterThan(busyTimeoutMs * 0.9); // as patient as at first
    await child.end();
  });

  test("its death undoes the commit, and lets the others go on", async () => {
    const store = await temp.open("tasks.db", { busyTimeoutMs: 1 });
    const child = await stoppedInCommit();
    await refusalOf(store, "a", child.pid);
    await child.kill("SIGKILL");
    await reclaimGone(store);
    expect(await store.get("task-other")).toMatchObject({ state: "queued", statusMessage: null, crashes: 1 });
    expect(await store.write(createQueued("a"))).toMatchObject({ ok: true });
  });

  test("nobody else can open the file, and whoever tries is told why", async () => {
    const child = await stoppedInCommit();
    const store = sqliteStore(temp.path(), { busyTimeoutMs: 1 });
    const problem: unknown = await store.open(someOwner()).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: "store_locked" });
    expect(String(problem)).toContain(`it is also open in process ${child.pid} on `);
    expect(String(problem)).toContain("Wait until it is done, or stop it, and try again.");
    process.kill(child.pid, "SIGCONT");
    await say(child, "committed");
    await store.open(someOwner());
    expect(await store.get("task-other")).toMatchObject({ statusMessage: "in a commit" });
    await store.close();
    await child.end();
  });

  test("a close waits for none of it, however patient writes are", async () => {
    const store = await temp.open("tasks.db", { busyTimeoutMs: 3_600_000 });
    await store.write(createQueued("a"));
    const child = await stoppedInCommit();
    await store.close();
    process.kill(child.pid, "SIGCONT");
    await child.end();
  });
});
