import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, type TaskClient } from "holdfast/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { fullForm } from "../full-form.ts";
import { KilledServer } from "./killed-server.ts";
import type { ContractRun } from "./contract-run.ts";
import { inNode, runnerOf } from "./runtime.ts";

const contract = fileURLToPath(new URL("./contract-run.ts", import.meta.url));

const timeout = 300_000; // of a busy machine

async function connected(url: string): Promise<TaskClient> {
  const client = await connect(url, { pollFloorMs: 1 });
  onTestFinished(() => client.close());
  return client;
}

describe.each(["Bun", "Deno"] as const)("%s", (name) => {
  const runner = runnerOf(name);

  test.each([
    ["memory", 1, "This kind of store has one owner at a time."],
    ["sqlite", fullForm ? 1 : 5, undefined],
  ] as const)("holds the %s store to its contract", { timeout }, async (kind, every, skips) => {
    const [command, ...args] = runner;
    const { stdout } = await promisify(execFile)(command, [...args, contract, kind, String(every)]);
    const { passed, failed, skipped } = JSON.parse(stdout) as ContractRun;
    expect(failed).toEqual([]);
    expect([...new Set(skipped)]).toEqual(skips === undefined ? [] : [skips]);
    expect(passed).toBeGreaterThan(50);
  });

  test("serves tasks that outlive it, whether it is killed or stopped in order", { timeout }, async () => {
    const server = await KilledServer.start(runner);
    const client = await connected(server.url);
    const handle = await client.startTool("gated", { word: "late" });
    await server.logged("(waits)", "late");
    await server.restart();
    await server.logged("(waits)", "late", 2);
    expect(await server.stop()).toBe(0);
    await server.serve();
    await server.logged("(waits)", "late", 3);
    server.openGate("late");
    expect(await handle.result()).toMatchObject({ content: [{ type: "text", text: "LATE late" }] });
    expect(server.stepsOf("late")).toEqual(["first", "second"]);
    expect(await client.callTool("quick", { word: "next" })).toMatchObject({ content: [{ text: "NEXT" }] });
    expect(await server.stop()).toBe(0);
    expect(server.stderr).not.toMatch(/error/i);
  });

  test("takes over a file from Node, and gives it back", { timeout }, async () => {
    const server = await KilledServer.start();
    const client = await connected(server.url);
    const handle = await client.startTool("gated", { word: "moved" });
    await server.logged("(waits)", "moved");
    await server.moveTo(runner);
    await server.logged("(waits)", "moved", 2);
    await server.moveTo(inNode);
    await server.logged("(waits)", "moved", 3);
    server.openGate("moved");
    expect(await handle.result()).toMatchObject({ content: [{ type: "text", text: "MOVED moved" }] });
    expect(server.stepsOf("moved")).toEqual(["first", "second"]);
  });
});
