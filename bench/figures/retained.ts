import { performance } from "node:perf_hooks";
import { assertAnswer, finishedTask } from "../client/answers.ts";
import { StatelessRequests } from "../client/requests.ts";
import { compareTails, type LatencyRound } from "../latency.ts";
import { copiedTasks, someTaskIds } from "../copied-tasks.ts";
import type { Side } from "../load.ts";
import type { ServerProcess } from "../server-process.ts";
import { median } from "../statistics.ts";
import type { Figure, Measurement, Run } from "./figure.ts";
import { withServers } from "./with-servers.ts";

const holdfast = "./servers/holdfast.ts";
const on = (database: string): Record<string, string> => ({
  HOLDFAST_STORE: `sqlite:${database}`,
  MANY_TASKS: "yes",
});
const few = 1_000;
const most = 1_000_000;
const many = most.toLocaleString("en-US");
const connections = 50;

const retainedTasks = (folder: string, count: number): Promise<string> =>
  copiedTasks(folder, "retained", count, (connection, url) =>
    finishedTask(connection, new StatelessRequests(url)),
  );

export const retainedStart: Figure = {
  name: "retained-start",
  title: `from the start of a process until it serves, with ${many} finished tasks in its store`,
  against: "",
  unit: "ms",
  goal: { atMost: 1_000 },
  measure: async ({ folder, effort }) => {
    const database = await retainedTasks(folder, most * effort.share);
    const found: number[] = [];
    for (let n = 0; n < effort.rounds; n++) {
      await withServers(folder, async (start) => {
        const begin = performance.now();
        await start(holdfast, on(database));
        found.push(performance.now() - begin);
      });
    }
    return { measured: median(found), ratios: found };
  },
};

/** The p99 on a store with many finished tasks, compared with that on one with few. */
async function tails(
  { folder, effort }: Run,
  sideOf: (server: ServerProcess, database: string) => Side,
  unitsPerRound: number,
): Promise<Measurement> {
  const round: LatencyRound = { connections, units: unitsPerRound, ms: effort.roundMs };
  const databases = [await retainedTasks(folder, most * effort.share), await retainedTasks(folder, few)];
  return withServers(folder, async (start) => {
    const sides = databases.map(async (database) => sideOf(await start(holdfast, on(database)), database));
    const [full, empty] = await Promise.all(sides);
    if (full === undefined || empty === undefined) throw new Error("No server is running.");
    return compareTails(full, empty, round, effort);
  });
}

/** Reads random tasks, so that each read needs other pages of the file. */
function reads(server: ServerProcess, database: string): Side {
  const requests = new StatelessRequests(server.url);
  const gets = someTaskIds(database, 5_000).map((id) => requests.get(id));
  const result = Buffer.from('"text":"42"');
  let next = 0;
  return {
    servers: [server],
    client: async (connection) => async () => {
      const get = gets[next++ % gets.length];
      if (get !== undefined) assertAnswer(await connection.send(get), result);
    },
  };
}

function creates(server: ServerProcess): Side {
  const call = new StatelessRequests(server.url).call("add", { a: 19, b: 23 });
  const created = Buffer.from('"taskId":"');
  return {
    servers: [server],
    client: async (connection) => async () => assertAnswer(await connection.send(call), created),
  };
}

export const retainedGet: Figure = {
  name: "retained-get",
  title: `p99 of tasks/get of random finished tasks, with ${many} of them in the store`,
  against: `with ${few.toLocaleString("en-US")}`,
  unit: "ms",
  goal: { atMost: 1.2 },
  measure: (run) => tails(run, reads, 20_000),
};

export const retainedCreate: Figure = {
  name: "retained-create",
  title: `p99 of tools/call that creates a task, with ${many} finished tasks in the store`,
  against: `with ${few.toLocaleString("en-US")}`,
  unit: "ms",
  goal: { atMost: 1.2 },
  // Each also adds a task to the few.
  measure: (run) => tails(run, creates, 4_000),
};
