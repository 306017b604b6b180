import { spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { fullForm } from "../full-form.ts";
import { onPostgres } from "../places/place.ts";
import { expectWorking, Owners, text } from "./owners.ts";
import { plainClient } from "./plain-client.ts";

/** For a busy machine; a test takes a few seconds. */
/** A death is noticed within a second. */
const promptMs = 5_000;

it("takes over the tasks of a process that is killed, once", async () => {
  const owners = await Owners.inNewFolder();
  const dies = await owners.start("gated");
  const others = [await owners.start("gated"), await owners.start("gated")];
  const { reference } = await (await dies.client()).startTool("gated", { word: "taken" });
  await owners.logged("(waits)", "taken");
  const begin = performance.now();
  await dies.send("SIGKILL");
  await owners.logged("(waits)", "taken", 2);
  expect(performance.now() - begin).toBeLessThan(promptMs);
  owners.openGate("taken");
  for (const other of others) {
    const handle = await (await other.client()).resume(reference);
    expect(await handle.result({ timeoutMs: promptMs })).toMatchObject(text("TAKEN taken"));
  }
  expect(owners.runnersOf("taken")).toHaveLength(2);
  expect(others.map(({ pid }) => pid)).toContain(owners.runnersOf("taken")[1]);
  expect(owners.stepsOf("taken")).toEqual(["first", "second"]);
});

it.each(fullForm || onPostgres ? (["SIGCONT", "SIGKILL"] as const) : (["SIGKILL"] as const))(
  "leaves its tasks to a process that is stopped, until %s",
  async (then) => {
    const owners = await Owners.inNewFolder();
    const stopped = await owners.start("gated");
    const other = await owners.start("gated");
    const { reference } = await (await stopped.client()).startTool("gated", { word: "kept" });
    await owners.logged("(waits)", "kept");
    await stopped.send("SIGSTOP");
    const atOther = await other.client();
    const handle = await atOther.resume(reference);
    await expectWorking(handle);
    owners.openGate("own");
    expect(await atOther.callTool("gated", { word: "own" })).toMatchObject(text("OWN own"));
    expect(owners.runnersOf("kept")).toEqual([stopped.pid]);

    await stopped.send(then);
    owners.openGate("kept");
    expect(await handle.result({ timeoutMs: 20_000 })).toMatchObject(text("KEPT kept"));
    expect(owners.runnersOf("kept")).toEqual([stopped.pid, ...(then === "SIGKILL" ? [other.pid] : [])]);
    expect(owners.stepsOf("kept")).toEqual(["first", "second"]);
  },
);

it.runIf(onPostgres)("begins no step of a task that others took while its process was stopped", async () => {
  const owners = await Owners.inNewFolder({ LEASE_MS: "3000" });
  const stopped = await owners.start("gated");
  const other = await owners.start("gated");
  const { reference } = await (await stopped.client()).startTool("gated", { word: "taken" });
  await owners.logged("(waits)", "taken");
  await stopped.send("SIGSTOP");
  await owners.logged("(waits)", "taken", 2);
  owners.openGate("taken");
  const handle = await (await other.client()).resume(reference);
  expect(await handle.result({ timeoutMs: 20_000 })).toMatchObject(text("TAKEN taken"));
  await stopped.send("SIGCONT"); // its handler, too, finds the gate open
  await owners.logged("(aborted)", "taken");
  expect(owners.runnersOf("taken")).toEqual([stopped.pid, other.pid]);
  expect(owners.stepsOf("taken")).toEqual(["first", "second"]);
});

it("refuses calls, and reads on, while a process that is stopped holds the database", async () => {
  const owners = await Owners.inNewFolder({ BUSY_TIMEOUT_MS: "2000" });
  const serving = [await owners.start("gated"), await owners.start("gated")];
  const clients = await Promise.all(serving.map((owner) => owner.client()));
  const [first, second] = clients;
  if (first === undefined || second === undefined) throw new Error("There are two.");
  const running = await first.startTool("gated", { word: "running" });
  await owners.logged("(waits)", "running");

  const holds = await holdDatabase(owners.database);
  owners.openGate("running"); // the second step cannot be stored now
  for (const client of clients) {
    const refused = await client.startTool("gated", { word: "refused" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "rpc",
      message: expect.stringContaining("store is not answering"),
    });
    expect(await (await client.resume(running.reference)).get()).toMatchObject({ status: "working" });
  }
  await holds.end();
  owners.openGate("later");
  for (const client of clients) {
    const handle = await client.resume(running.reference);
    expect(await handle.result({ timeoutMs: 20_000 })).toMatchObject(text("RUNNING running"));
    expect(await client.callTool("gated", { word: "later" })).toMatchObject(text("LATER later"));
  }
  expect(owners.stepsOf("running")).toEqual(["first", "second"]);
  expect(owners.stepsOf("refused")).toEqual([]);
});

it("carries answers, cancels and results between processes", async () => {
  const owners = await Owners.inNewFolder();
  const runs = await owners.start("gated", "asks");
  const other = await owners.start("gated", "asks");
  const answer = Promise.withResolvers<string>();
  const onInput = async () => ({ action: "accept" as const, content: { name: await answer.promise } });
  // The one does not answer; the other, at another process, does.
  const atRuns = await runs.client({ onInput: () => new Promise(() => undefined) });
  const atOther = await other.client({ onInput });
  const question = await atRuns.startTool("asks", { word: "turn" });
  const handle = await atOther.resume(question.reference);
  const result = handle.result({ timeoutMs: promptMs });
  answer.resolve("Ada");
  expect(await result).toMatchObject(text("Ada's turn"));
  // Pushed: a client that listens polls every 15 seconds at most.
  expect(await question.result({ timeoutMs: promptMs })).toMatchObject(text("Ada's turn"));
  expect(owners.runnersOf("turn")).toEqual([runs.pid]);

  const cancelled = await atRuns.startTool("gated", { word: "cancelled" });
  await owners.logged("(waits)", "cancelled");
  await (await atOther.resume(cancelled.reference)).cancel();
  await owners.logged("(aborted)", "cancelled");
  await expect(cancelled.result({ timeoutMs: promptMs })).rejects.toMatchObject({ code: "cancelled" });
});

it("joins a call without tasks that is repeated at another process", async () => {
  const owners = await Owners.inNewFolder();
  const runs = await owners.start("gated");
  const other = await owners.start("gated");
  const call = { name: "gated", arguments: { word: "joined" } };
  const impatient = (await plainClient(runs)).callTool(call, undefined, { timeout: 300 });
  await expect(impatient).rejects.toThrow("timed out");
  await owners.logged("(waits)", "joined");
  const patient = (await plainClient(other)).callTool(call);
  owners.openGate("joined");
  expect(await patient).toMatchObject(text("JOINED joined"));
  expect(owners.runnersOf("joined")).toEqual([runs.pid]);
  expect(owners.stepsOf("joined")).toEqual(["first", "second"]);
});

/** Another process that has begun to write to the database and is stopped. */
async function holdDatabase(database: string): Promise<{ end(): Promise<void> }> {
  const script = fileURLToPath(new URL("./hold-database.ts", import.meta.url));
  const child = spawn(process.execPath, [script, database], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(end);
  const [said] = await Promise.race([once(child.stdout, "data"), ended]);
  expect(String(said)).toBe("held\n");
  child.kill("SIGSTOP");
  return { end };
}
