// A server with one task that ends its process each time it runs, and healthy ones beside it:
// node poisoned-server.ts PATH exit|abort [id of each task, in the order in which the first run printed them]
// Prints `task ID`, `ran KEY` for each step that runs, `end NAME STATE OUTCOME` once the poison was given up.
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { RealRuntime, type RealTools } from "./real-runtime.ts";

const [path = "", death = "", ...known] = process.argv.slice(2);
const names = ["poison", "one-by-one", "side-by-side", "asks", "quick"] as const;
const keys = [0, 1, 2, 3, 4, 5, 6, 7];
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

const poisonGivenUp = Promise.withResolvers<void>();
const neighboursMoved = {
  "one-by-one": Promise.withResolvers<void>(),
  "side-by-side": Promise.withResolvers<void>(),
};

/** One new step in each life, as of a task that takes longer than its server lives. */
function steps(name: keyof typeof neighboursMoved, task: TaskContext): (key: number) => Promise<void> {
  let fresh = false;
  return async (key) => {
    let ran = false;
    await task.step(["part", key], async () => {
      if (fresh) await poisonGivenUp.promise;
      fresh = ran = true;
      console.log(`ran ${name} ${key}`);
    });
    if (ran) neighboursMoved[name].resolve();
  };
}

const tools: RealTools = {
  poison: {
    config: { onCrash: "resume" },
    handler: async () => {
      await Promise.all(Object.values(neighboursMoved).map(({ promise }) => promise));
      if (death === "abort") process.abort();
      process.exit(3);
    },
  },
  "one-by-one": async (_, task) => {
    const step = steps("one-by-one", task);
    for (const key of keys) await step(key);
    return text("one by one");
  },
  "side-by-side": async (_, task) => {
    await Promise.all(keys.map(steps("side-by-side", task)));
    return text("side by side");
  },
  asks: async (_, task) => text((await task.elicit("q", question)).action),
  quick: { config: { annotations: { readOnlyHint: true } }, handler: () => text("quick") },
};

// As a listening socket does: timers of the runtime alone keep no process running.
const listening = setInterval(() => undefined, 60_000);
const server = await RealRuntime.started(sqliteStore(path), tools, { crashBackoffMs: 10 });
const ids = [...known];
if (known.length === 0) {
  for (const name of names) {
    const id = await server.call(name);
    ids.push(id);
    console.log(`task ${id}`);
  }
}
const [poison = "", , , asks = ""] = ids;
await server.ended(poison);
poisonGivenUp.resolve();
await server.until(asks, ({ inputs }) => inputs.length === 1);
await server.answer(asks, "q", { action: "accept", content: {} });
for (const [n, id] of ids.entries()) {
  const { task, outcome } = await server.ended(id);
  console.log(`end ${names[n]} ${task.state} ${outcome?.body}`);
}
await server.runtime.stop();
clearInterval(listening);
