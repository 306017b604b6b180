import { existsSync } from "node:fs";
import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { TaskStore } from "../../../src/store/store.ts";
import { aHandler, reclaimGone } from "../../../src/testing/sample-task.ts";
import { createQueued, createRunning, noon } from "../../contract/sample-task.ts";
import { runChild } from "./child.ts";
import { openInChild } from "./owner-child.ts";
import { useTempDirectory } from "./temp-directory.ts";

const temp = useTempDirectory();
const writeForever = new URL("./write-forever.ts", import.meta.url);
const alone = { held: true, gone: [], others: 0 };
const withAnother = { ...alone, others: 1 };
const lockFile = (owner: string) => temp.path(`tasks.db.owners/${owner}`);

function claim(store: TaskStore) {
  return store.write({ type: "claim", now: noon, handlers: [aHandler], tokens: ["c1", "c2", "c3"] });
}

test("two processes have one file open: each sees and changes the tasks of the other", async () => {
  const child = await openInChild(temp.path());
  const store = await temp.open();
  expect(await child.ask("run a")).toMatchObject({ ok: true });
  expect(await store.get("task-a")).toMatchObject({ state: "running", owner: child.owner });
  await store.write({ type: "request_cancel", now: noon, id: "task-a" });
  expect(await child.ask("get a")).toMatchObject({ cancelRequestedAt: noon });
  expect(await store.renew()).toEqual(withAnother);
  expect(await child.ask("renew")).toEqual(withAnother);
  await child.end();
});

describe("a process that ends", () => {
  test.each<[how: string, end: (child: Awaited<ReturnType<typeof openInChild>>) => Promise<void>]>([
    ["by SIGKILL", (child) => child.kill("SIGKILL")],
    ["in order", (child) => child.end()],
  ])("%s is noticed by the next renewal, and its tasks go to the others", async (_, end) => {
    const child = await openInChild(temp.path());
    const store = await temp.open();
    await child.ask("run a");
    await child.ask("queue b");
    await end(child);

    expect(await store.renew()).toEqual({ ...alone, gone: [child.owner] });
    expect(await claim(store)).toMatchObject({ tasks: [] });
    await reclaimGone(store);
    expect(await store.renew()).toEqual(alone);
    expect(await claim(store)).toMatchObject({
      tasks: [
        { id: "task-b", attempt: 1, crashes: 0 },
        { id: "task-a", attempt: 2, crashes: 1 },
      ],
    });
    expect(existsSync(lockFile(child.owner))).toBe(false);
  });

  test("before anybody else opens the file is noticed by the next one that does", async () => {
    const child = await openInChild(temp.path());
    await child.ask("run a");
    await child.kill("SIGKILL");
    const store = await temp.open();
    expect(await store.renew()).toEqual({ ...alone, gone: [child.owner] });
    await reclaimGone(store);
    expect(await store.get("task-a")).toMatchObject({ state: "queued", owner: null });
  });

  test("while it writes loses nothing that it acknowledged", async () => {
    const store = await temp.open();
    const child = runChild(writeForever, [temp.path()]);
    expect(await child.line()).toBe("open");
    const lines: string[] = [];
    while (lines.length < 100) lines.push(await child.line());
    await child.kill("SIGKILL");
    lines.push(...(await child.rest()));
    for (const line of lines) {
      const [word, id = ""] = line.split(" ");
      expect(word).toBe("kept");
      expect(await store.snapshot(id)).toMatchObject({ task: { id } });
      expect(await store.request(id)).toBeDefined();
    }
    expect(await store.write(createQueued("next"))).toMatchObject({ ok: true });
  });

  test("while it opens the file keeps nobody from it, and leaves no lock behind for ever", async () => {
    await temp.open();
    const locks = () => readdir(temp.path("tasks.db.owners"));
    // Whichever file of it comes first, it ends between its lock and its row in the database, or a little beside that.
    for (let round = 0; round < 3; round++) {
      const child = runChild(writeForever, [temp.path()]);
      while ((await locks()).length < 2) await new Promise(setImmediate);
      await child.kill("SIGKILL");
      const next = await temp.open();
      await reclaimGone(next);
      expect(await next.renew()).toMatchObject({ gone: [], others: 1 });
      expect(await locks()).toHaveLength(2);
      await next.close();
    }
  });
});

test.runIf(process.platform !== "win32")("a stopped process keeps its lock and its tasks", async () => {
  const child = await openInChild(temp.path());
  const store = await temp.open();
  await child.ask("run a");
  process.kill(child.pid, "SIGSTOP");
  expect(await store.renew()).toEqual(withAnother);
  const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };
  const reclaim = { type: "reclaim", now: noon, owner: child.owner, after: "", limit: 9, backoff } as const;
  expect(await store.write(reclaim)).toEqual({ ok: false, reason: "state" });
  expect(await store.write(createQueued("b"))).toMatchObject({ ok: true });
  process.kill(child.pid, "SIGCONT");
  expect(await child.ask("get b")).toMatchObject({ id: "task-b" });
  expect(await child.ask("renew")).toEqual(withAnother);
  expect(await store.get("task-a")).toMatchObject({ state: "running", owner: child.owner });
  await child.end();
});

test("a process whose lock file was deleted is taken for dead, and its late writes say what to do", async () => {
  const child = await openInChild(temp.path());
  const store = await temp.open();
  await child.ask("run a");
  await rm(lockFile(child.owner));
  expect(await store.renew()).toEqual({ ...alone, gone: [child.owner] });
  await reclaimGone(store);
  expect(await child.ask("renew")).toMatchObject({ held: false });
  for (const name of ["b", "c"]) {
    expect(await child.ask(`run ${name}`)).toMatchObject({
      code: "store_lost",
      message: expect.stringMatching(
        /Another process took over the tasks of this one in .*tasks\.db.*Restart this process\.$/,
      ),
    });
  }
  expect(await child.ask("get a")).toMatchObject({ state: "queued" });
  expect(await store.get("task-b")).toBeUndefined();
  await child.end();
  expect(await store.renew()).toEqual(alone);
});

test("two symbolic links to one file are one file, whichever leads to it", async () => {
  await symlink(temp.path("real.db"), temp.path("link.db"));
  await mkdir(temp.path("data"));
  await symlink(temp.path("data"), temp.path("alias"));
  await symlink("data/tasks.db", temp.path("relative.db"));

  // The first opens a file that its link leads to and that is not there yet.
  const first = await temp.open("link.db");
  const second = await temp.open("real.db");
  for (const store of [first, second]) expect(await store.renew()).toEqual(withAnother);

  await temp.open("alias/tasks.db");
  await temp.open("data/tasks.db");
  expect(await (await temp.open("relative.db")).renew()).toEqual({ ...alone, others: 2 });
});

test("two files in one folder have owners of their own", async () => {
  const first = await temp.open("a.db");
  await first.write(createRunning("a"));
  const second = await temp.open("b.db");
  expect(await second.renew()).toEqual(alone);
  expect(await second.get("task-a")).toBeUndefined();
});
