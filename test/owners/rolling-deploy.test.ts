import { expect, it } from "vitest";
import { onPostgres } from "../places/place.ts";
import { expectWorking, Owners, text } from "./owners.ts";

/** For a busy machine; a test takes a few seconds. */

it.each(["SIGTERM", "SIGKILL"] as const)(
  "gives the tasks of an older process that ends by %s to the newer one, which ran beside it",
  async (end) => {
    const owners = await Owners.inNewFolder();
    const older = await owners.start("gated");
    const newer = await owners.start("gated", "newer");
    const atOlder = await older.client();
    const running = await atOlder.startTool("gated", { word: "running" });
    await owners.logged("(waits)", "running");
    const queued = await atOlder.startTool("gated", { word: "queued" });
    // Beside an SQLite file, who took a call runs it: the newer one has nothing to do, and leaves both alone.
    const atNewer = await newer.client();
    await expectWorking(await atNewer.resume(queued.reference), 500);
    if (onPostgres) await owners.logged("(waits)", "queued");
    expect(owners.runnersOf("queued")).toEqual(onPostgres ? [newer.pid] : []);

    await older.send(end);
    owners.openGate("running");
    owners.openGate("queued");
    const result = async (reference: typeof queued.reference) =>
      (await atNewer.resume(reference)).result({ timeoutMs: 20_000 });
    expect(await result(running.reference)).toMatchObject(text("RUNNING running"));
    expect(await result(queued.reference)).toMatchObject(text("QUEUED queued"));
    expect(owners.runnersOf("running")).toEqual([older.pid, newer.pid]);
    expect(owners.runnersOf("queued")).toEqual([newer.pid]);
    expect(owners.stepsOf("running")).toEqual(["first", "second"]);
  },
);

it("keeps a task for a newer process that alone knows its tool and is busy", async () => {
  const owners = await Owners.inNewFolder();
  const older = await owners.start("gated");
  const newer = await owners.start("gated", "newer");
  const newest = await owners.start("gated", "newer");
  const busy = await (await newest.client()).startTool("newer", { word: "busy" });
  await owners.logged("(waits)", "busy");
  const moved = await (await newer.client()).startTool("newer", { word: "moved" });
  await owners.logged("(waits)", "moved");
  await newer.send("SIGKILL");

  const atOlder = await older.client();
  const handle = await atOlder.resume(moved.reference);
  await expectWorking(handle);
  owners.openGate("busy");
  owners.openGate("moved");
  expect(await handle.result({ timeoutMs: 20_000 })).toMatchObject(text("MOVED moved"));
  expect(await (await atOlder.resume(busy.reference)).result()).toMatchObject(text("BUSY busy"));
  expect(owners.runnersOf("moved")).toEqual([newer.pid, newest.pid]);
  expect(owners.stepsOf("moved")).toEqual(["first", "second"]);
});

it("blocks a task only when no process that lives has its tool, until one has", async () => {
  const owners = await Owners.inNewFolder();
  const older = await owners.start("gated", "removed");
  const newer = await owners.start("gated");
  const { reference } = await (await older.client()).startTool("removed", { word: "removed" });
  await owners.logged("(waits)", "removed");
  const atNewer = await newer.client();
  const handle = await atNewer.resume(reference);
  await expectWorking(handle);
  await older.send("SIGTERM");
  await expect
    .poll(async () => (await handle.get()).statusMessage, { timeout: 60_000 })
    .toContain("cannot continue this task at the moment");
  expect(owners.runnersOf("removed")).toEqual([older.pid]);
  const again = await owners.start("gated", "removed");
  await expect.poll(() => owners.runnersOf("removed"), { timeout: 60_000 }).toEqual([older.pid, again.pid]);
});
