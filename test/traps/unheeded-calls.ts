// A process that would die of an unhandled rejection, as a server does: node unheeded-calls.ts SCENARIO
// It says "alive" as it exits in good order.
import { setImmediate } from "node:timers/promises";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { anyone, RealRuntime, type RealHandler } from "./real-runtime.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const done = { content: [] };
const never = new Promise<never>(() => undefined);

/** Lets rejections come up that nobody handles: Node looks for them between two turns of the loop. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await setImmediate();
}

function callEverything(task: TaskContext, late: Promise<void>): void {
  void task.step("unheeded step", () => late);
  void task.step("unheeded throw", async () => {
    await late;
    throw new Error("too late");
  });
  void task.step("unheeded retry", { retries: 3, timeoutMs: 10_000 }, () => {
    throw new Error("busy");
  });
  void task.elicit("unheeded question", question);
  void task.elicit("unheeded deadline", question, { timeoutMs: 5 });
  void task.sample("unheeded sample", { messages: [], maxTokens: 1 });
  void task.sleep("unheeded sleep", 5);
  void task.waitForEvent("unheeded event", "nothing");
  void task.waitForEvent("unheeded event in time", "nothing", { timeoutMs: 5 });
  void task.status("unheeded");
  void task.extend(60_000);
  void task.pollInterval(10);
  task.progress(1);
}

interface Run {
  readonly process: RealRuntime;
  readonly id: string;
  /** Lets the steps that are under way end. */
  readonly open: () => void;
}

interface Scenario {
  readonly handler: (task: TaskContext, late: Promise<void>) => ReturnType<RealHandler>;
  /** What happens to the task once its handler's calls are under way. */
  readonly event: (run: Run) => Promise<void>;
}

const hangs: Scenario["handler"] = (task, late) => {
  callEverything(task, late);
  return never;
};

let used: TaskContext | undefined;

const scenarios: Readonly<Record<string, Scenario>> = {
  "ownership is lost": {
    handler: hangs,
    event: async ({ process: { store }, id, open }) => {
      const token = (await store.get(id))?.token ?? "";
      await store.write({ type: "release", now: Date.now(), id, token });
      open();
    },
  },
  "the task is cancelled": {
    handler: hangs,
    event: async ({ process: { runtime }, id, open }) => {
      await runtime.cancel(id, anyone);
      open();
    },
  },
  "the task expires": {
    handler: hangs,
    event: async ({ process: { store }, id, open }) => {
      const outcome = { kind: "error", body: '{"code":-32603,"message":"over"}' } as const;
      const now = Date.now() + 48 * 3_600_000;
      await store.write({ type: "expire", now, id, outcome, statusMessage: "over", visibleUntil: now });
      open();
    },
  },
  "the server stops": {
    handler: hangs,
    event: async ({ process: { runtime }, open }) => {
      open();
      await runtime.stop();
    },
  },
  "the handler has returned": {
    handler: async (task, late) => {
      callEverything(task, late);
      await turns();
      return done;
    },
    event: async ({ process, id, open }) => {
      await process.ended(id);
      open();
    },
  },
  "the handler has thrown": {
    handler: async (task, late) => {
      callEverything(task, late);
      await turns();
      throw new Error("no paper");
    },
    event: async ({ process, id, open }) => {
      await process.ended(id);
      open();
    },
  },
  "a context is used after its handler returned": {
    handler: (task) => {
      used = task;
      return done;
    },
    event: async ({ process, id }) => {
      await process.ended(id);
      if (used === undefined) throw new Error("the handler did not run");
      callEverything(used, Promise.resolve());
    },
  },
};

const scenario = scenarios[process.argv[2] ?? ""];
if (scenario === undefined) throw new Error(`no scenario ${process.argv[2]}`);
process.on("exit", (code) => {
  if (code === 0) console.log("alive");
});

const late = Promise.withResolvers<void>();
const underWay = Promise.withResolvers<void>();
const handler: RealHandler = async (_, task) => {
  const [result] = await Promise.all([
    scenario.handler(task, late.promise),
    turns().then(() => underWay.resolve()),
  ]);
  return result;
};
// Handlers that never return are not waited for.
const real = await RealRuntime.started(memoryStore(), { handler }, { stopDeadlineMs: 50 });
const id = await real.call("handler");
await underWay.promise;
await scenario.event({ process: real, id, open: () => late.resolve() });
// The deadline and the sleep come up in their own time.
setTimeout(() => void real.runtime.stop(), 100);
