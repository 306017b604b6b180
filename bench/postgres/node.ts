// One of several nodes, which ends with the process that started it. Runs lives of tasks as told: node node.ts SETTINGS.
import { setTimeout as pause } from "node:timers/promises";
import { storeFromUrl } from "../../src/store/from-url.ts";
import { postgresStore } from "../../src/store/postgres/postgres-store.ts";
import { unitsIn } from "./in-flight.ts";
import type { Done, NodeSettings, Order } from "./node-process.ts";
import { TaskNode } from "./task-node.ts";

const { url, schema, inFlight, ...options } = JSON.parse(process.argv[2] ?? "{}") as NodeSettings;
const serves = options.roles?.includes("serve") ?? true;
const store = schema === undefined ? storeFromUrl(url) : postgresStore(url, { schema });
const node = await TaskNode.start(store, options);

async function obey(order: Order): Promise<void> {
  const before = process.cpuUsage();
  const { done, perSecond } = serves
    ? await unitsIn(() => node.life(), order.ms, order.inFlight ?? inFlight)
    : await pause(order.ms, { done: 0, perSecond: 0 });
  const { user, system } = process.cpuUsage(before);
  process.send?.({ lives: done, perSecond, cpuMs: (user + system) / 1_000 } satisfies Done);
}

process.on("message", (order: Order) => void obey(order));
process.on("disconnect", () => void node[Symbol.asyncDispose]());
process.send?.("ready");
