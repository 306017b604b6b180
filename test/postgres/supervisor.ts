// Has a Postgres of its own and ends it, with its data, when its stdin ends, however its parent ended: node supervisor.ts SETTINGS
// [DATA], the data of a stopped server that it is a standby of.
// Each line of its input, "start" or how to stop, is answered by a line once it is done.
import { createInterface } from "node:readline";
import { Cluster, type Settings } from "./cluster.ts";
import type { Order, Reply } from "./own-server.ts";

const [settings = "{}", copied] = process.argv.slice(2);

// Whoever ends a run ends its parent, too; the data are to be removed by then.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// Nobody reads its answers any more.
process.stdout.on("error", () => undefined);

const cluster = await Cluster.create(JSON.parse(settings) as Settings, copied);

async function obey(order: Order): Promise<Reply> {
  try {
    await (order === "start" ? cluster.start() : cluster.stop(order));
    return { url: cluster.url, pid: cluster.pid, data: cluster.data };
  } catch (error) {
    return { problem: String(error) };
  }
}

try {
  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await obey(line as Order)));
} finally {
  await cluster.remove();
}
