import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createTasks, type ServerEvent } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { insideOf } from "../../src/server/request.ts";
import { anyone } from "../traps/real-runtime.ts";
import { anonymousCall } from "./anonymous-call.ts";
import { text } from "./harness.ts";

const program = fileURLToPath(new URL("blocking-server.ts", import.meta.url));

type Blocked = Extract<ServerEvent, { type: "loop.blocked" }>;

/** Stops this thread, event loop and timers and all. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it("names the tool and the step that blocked the event loop, and the handler between its steps", async () => {
  const blocks: Blocked[] = [];
  const found = (tool: string, step?: string): Blocked | undefined =>
    blocks.find((event) => event.tool === tool && event.step === step && event.isCertain);
  const onEvent = (event: ServerEvent): void => {
    if (event.type === "loop.blocked") blocks.push(event); // also of a machine that is busy
  };
  const tasks = createTasks({ store: memoryStore(), loopBlockedMs: 600, onEvent });
  tasks.tool("hash", {}, async (_, task) => {
    await task.step("short", () => 1);
    await task.step("hash all", () => block(1_000));
    return text("hashed");
  });
  tasks.tool("packs", {}, () => {
    block(1_000);
    return text("packed");
  });
  await tasks.start();
  const { runtime } = insideOf(tasks) ?? expect.unreachable();
  const ids: string[] = [];
  const callUntilFound = async (tool: string, step?: string): Promise<void> => {
    // The thread may not have begun to watch at the first call.
    while (found(tool, step) === undefined) {
      const { task } = await runtime.create(anonymousCall(tool));
      ids.push(task.id);
      const end = async (): Promise<string> => (await runtime.get(task.id, anyone)).task.state;
      await expect.poll(end, { timeout: 25_000 }).toBe("settled");
    }
  };
  await callUntilFound("hash", "hash all");
  await callUntilFound("packs");
  for (const { taskId } of [found("hash", "hash all"), found("packs")].flatMap((event) => event ?? []))
    expect(ids).toContain(taskId);
  await tasks.stop();
});

it("says where a loop is that never answers again, answers for its health, and ends it", async () => {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  const child = spawn(process.execPath, [program, String(port)], { stdio: ["ignore", "inherit", "pipe"] });
  const printed = textOf(child.stderr);
  const exited = once(child, "exit");
  const statuses = new Set<number>();
  const ask = async (): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer === undefined) return;
    const { blockedMs } = (await answer.json()) as { blockedMs: number };
    statuses.add(answer.status);
    expect(blockedMs > 0).toBe(answer.status === 503);
  };
  await expect.poll(async () => (await ask(), statuses.has(503)), { timeout: 25_000 }).toBe(true);
  expect(await exited).toEqual([null, "SIGKILL"]);
  const said = await printed;
  expect(said).toContain('It is in the step "spin" of the tool "spins"');
  expect(said).toContain("at spinForever (");
  expect(said).toContain("It is ended, so that another process goes on with its tasks.");
});
