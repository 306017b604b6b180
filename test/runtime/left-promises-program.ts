// Runs a handler that leaves a promise behind, in a process where nobody else listens for unhandled rejections. Prints what onError heard
// and, if the process lives on, "alive": node left-promises-program.ts KIND
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import type * as rejections from "../../src/runtime/unhandled-rejections.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";

const kind = process.argv[2] ?? "";
const registry = new Registry();
const waits = Promise.withResolvers<void>();

/** After a first error of its own, with which the runtime begins to listen. */
async function ofItsAuthor(task: TaskContext): Promise<void> {
  await task.step("fails", () => Promise.reject(new Error("of a step"))).catch(() => undefined);
  void Promise.reject(new Error("of its author"));
  await task.step("other", () => 1);
}

const kinds: Readonly<Record<string, (task: TaskContext) => Promise<void>>> = {
  "left at the return": async (task) => {
    void (async () => {
      await task.step("mail", async () => waits.promise);
      await task.step("note", () => 1);
    })();
    await task.step("other", () => 1);
  },
  "failed meanwhile": async (task) => {
    const sent = (async () => {
      await task.step("mail", () => Promise.reject(new Error("SMTP down")));
    })();
    await task.sleep("pause", 20);
    await sent.catch(() => undefined);
  },
  cancelled: async (task) => {
    const sent = (async () => {
      await task.waitForEvent("mail", "never");
    })();
    waits.resolve();
    await task.waitForEvent("other", "never");
    await sent;
  },
  "of the signal": async (task) => {
    void new Promise((_, reject) => {
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
    });
    waits.resolve();
    await task.waitForEvent("other", "never");
  },
  "of its author": ofItsAuthor,
  "of its author, with two copies": async (task) => {
    const second = new URL("../../src/runtime/unhandled-rejections.ts?second", import.meta.url).href;
    const { giveToHandler } = (await import(second)) as typeof rejections;
    giveToHandler(new Error("of the second copy"));
    await ofItsAuthor(task);
  },
};

registry.add("leaves", {}, async (_, task) => {
  await kinds[kind]?.(task);
  return { content: [] };
});
const nobody = { generation: "2026-07-28", principal: null } as const;
const onError = (error: unknown): void => console.log((error as Error).message);
const runtime = createRuntime({ store: memoryStore(), registry, options: {}, onError });
await runtime.start();
const {
  task: { id },
} = await runtime.create({ ...nobody, tool: "leaves", arguments: {}, origin: { capabilities: {} } });
if (kind === "cancelled" || kind === "of the signal") {
  await waits.promise;
  await runtime.cancel(id, nobody);
}
while (!isTerminal((await runtime.get(id, nobody)).task.state))
  await new Promise((resolve) => setTimeout(resolve, 5));
waits.resolve();
setTimeout(() => {
  console.log("alive");
  void runtime.stop();
}, 100);
