// One of several nodes, which ends with the process that started it. Runs lives of tasks as told: node node.ts SETTINGS.
import { setTimeout as pause } from "node:timers/promises";
import { postgresStore } from "../../src/store/postgres/postgres-store.ts";
import { rateOf } from "./in-flight.ts";
import type { Done, NodeSettings, Order } from "./node-process.ts";
import { TaskNode } from "./task-node.ts";

const { url, schema, inFlight, ...options } = JSON.parse(process.argv[2] ?? "{}") as NodeSettings;
const serves = options.roles?.includes("serve") ?? true;
const node = await TaskNode.start(postgresStore(url, { schema }), options);

async function obey({ ms }: Order): Promise<void> {
  const before = process.cpuUsage();
  const perSecond = serves ? await rateOf(() => node.life(), ms, inFlight) : await pause(ms, 0);
  const { user, system } = process.cpuUsage(before);
  process.send?.({ perSecond, cpuMs: (user + system) / 1_000 } satisfies Done);
}

process.on("message", (order: Order) => void obey(order));
process.on("disconnect", () => void node[Symbol.asyncDispose]());
process.send?.("ready");
