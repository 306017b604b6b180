import { expect, it } from "vitest";
import { expectWorking, Owners, text } from "./owners.ts";

/** For a busy machine; a test takes up to half a minute, since a process that cannot run a task leaves it alone for a while. */

it("never runs tasks in a process with an older version that a newer one has begun", async () => {
  const owners = await Owners.inNewFolder();
  const older = await owners.start("gated");
  const newer = await owners.start("gated@2");
  const atNewer = await newer.client();
  const running = await atNewer.startTool("gated", { word: "running" });
  await owners.logged("(waits)", "running");
  const queued = await atNewer.startTool("gated", { word: "queued" });
  await newer.send("SIGKILL");

  // What had not begun is the older one's to run; it goes back to that when the other one is dead.
  owners.openGate("queued");
  const atOlder = await older.client();
  const handle = await atOlder.resume(running.reference);
  const end = (await atOlder.resume(queued.reference)).result({ timeoutMs: 30_000 });
  expect(await end).toMatchObject(text("QUEUED queued"));
  expect(owners.runnersOf("queued")).toEqual([older.pid]);
  await expectWorking(handle);
  expect(owners.runnersOf("running")).toEqual([newer.pid]);

  const newest = await owners.start("gated@3");
  owners.openGate("running");
  expect(await handle.result({ timeoutMs: 60_000 })).toMatchObject(text("RUNNING running"));
  expect(owners.runnersOf("running")).toEqual([newer.pid, newest.pid]);
  expect(owners.stepsOf("running")).toEqual(["first", "second"]);
});

it("goes on with older tasks in a newer process, and after a rollback in an older one again", async () => {
  const owners = await Owners.inNewFolder();
  const older = await owners.start("gated");
  const { reference } = await (await older.client()).startTool("gated", { word: "moved" });
  await owners.logged("(waits)", "moved");
  const newer = await owners.start("gated@2");
  await older.send("SIGTERM");
  await owners.logged("(waits)", "moved", 2);
  // It began under the older version, and keeps that.
  const back = await owners.start("gated");
  await newer.send("SIGTERM");
  owners.openGate("moved");
  const handle = await (await back.client()).resume(reference);
  expect(await handle.result({ timeoutMs: 30_000 })).toMatchObject(text("MOVED moved"));
  expect(owners.runnersOf("moved")).toEqual([older.pid, newer.pid, back.pid]);
  expect(owners.stepsOf("moved")).toEqual(["first", "second"]);
});
