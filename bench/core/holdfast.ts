// The lives of tasks in one process, without a protocol: what the runtime and the SQLite store cost by themselves.
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { measureLives } from "./lives.ts";

const [, , path = "holdfast.db"] = process.argv;
const store = sqliteStore(path);
/** By id; called after the first commit that follows the return of the handler. */
const ends = new Map<string, () => void>();
const returned = new Set<string>();
const registry = new Registry();
const onCrash = process.env["ON_CRASH"] === "resume" ? "resume" : "fail";
registry.add("report", { onCrash }, async (_args: unknown, task) => {
  for (const key of ["read", "count", "write"]) await task.step(key, () => key.length);
  returned.add(task.id);
  return { content: [{ type: "text", text: "done" }] };
});
const runtime = createRuntime({
  store,
  registry,
  options: { concurrency: 1_000, maxRetained: null, maxUnfinished: null },
});
let writes = 0;
store.onCommit?.((commands) => {
  writes += commands;
});
store.subscribe((changes) => {
  if (changes === "gap") return;
  for (const { id } of changes) if (returned.delete(id)) ends.get(id)?.();
});
await runtime.start();

const anyone = { generation: "2026-07-28", principal: null } as const;

async function life(): Promise<void> {
  const { task } = await runtime.create({
    ...anyone,
    tool: "report",
    arguments: { rows: 3 },
    origin: { capabilities: {} },
  });
  await new Promise<void>((resolve) => {
    ends.set(task.id, resolve);
  });
  ends.delete(task.id);
  const { outcome } = await runtime.get(task.id, anyone);
  if (outcome === null) throw new Error(`Task ${task.id} has no result.`);
}

console.log(JSON.stringify(await measureLives(life, path, () => writes)));
await runtime.stop();
