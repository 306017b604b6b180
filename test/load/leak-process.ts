// Takes tasks through their whole life, again and again: node --expose-gc leak-process.ts DATABASE TASKS. Prints a line
// with what they leave behind after each fifth of them.
import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { ProtocolError } from "@modelcontextprotocol/server";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { isUnknownTask } from "../../src/task/fault.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { sqliteStore } from "../../src/sqlite.ts";

const [database = "", count = "5000"] = process.argv.slice(2);
const total = Number(count);
const wave = 500;
const filler = "x".repeat(1_000);

const registry = new Registry();
registry.add("works", {}, async (_args, task) => {
  await task.status("works");
  const text = await task.step("step", () => filler);
  return { content: [{ type: "text", text }] };
});
registry.add("fails", {}, async () => {
  throw new ProtocolError(-32_050, filler);
});
registry.add("naps", {}, async (_args, task) => {
  await task.sleep("nap", 200);
  task.signal.throwIfAborted(); // on a busy machine its life may have ended meanwhile
  return new Promise<never>((_, reject) => {
    task.signal.addEventListener("abort", () => reject(new Error("awake")), { once: true });
  });
});
const tools = ["works", "works", "works", "fails", "naps"];

const store = sqliteStore(database);
const runtime = createRuntime({
  store,
  registry,
  options: { ttlMs: 300, expiredVisibleMs: 1, cancelGraceMs: 2_000, maxUnfinished: null, maxRetained: null },
});
await runtime.start();

/** Each in the name of somebody else, and under a key of its own: neither may stay behind. */
async function live(number: number): Promise<void> {
  const requestor = { generation: "2026-07-28", principal: `principal-${number}` } as const;
  const tool = tools[number % tools.length] ?? "works";
  const { task } = await runtime.create({
    ...requestor,
    tool,
    arguments: { filler, number },
    origin: { requestId: number, capabilities: {} },
    idempotencyKey: `key-${number}`,
  });
  // Every other one that naps is left to its ttl.
  if (tool !== "naps" || number % 2 !== 0) return;
  // On a busy machine its ttl may have ended meanwhile.
  await runtime.cancel(task.id, requestor).catch((error: unknown) => {
    if (!isUnknownTask(error)) throw error;
  });
}

const size = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

let made = 0;
for (let fifth = 1; fifth <= 5; fifth++) {
  while (made < (total * fifth) / 5) {
    await Promise.all(Array.from({ length: wave }, (_, place) => live(made + place)));
    made += wave;
  }
  // The sweeper deletes all of them in time.
  while ((await store.nextSweepAt(0)) !== null) await pause(10);
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  const files = { file: size(database), log: size(`${database}-wal`) };
  process.stdout.write(`${JSON.stringify({ made, rss, heap: heapUsed + external, ...files })}\n`);
}
await runtime.stop();
