import { join } from "node:path";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { OwnServer } from "../../test/postgres/own-server.ts";
import { copyTask } from "../copied-tasks.ts";
import { unitsIn } from "../postgres/in-flight.ts";
import { NodeGroup } from "../postgres/node-process.ts";
import { newId, TaskNode, type TaskNodeOptions } from "../postgres/task-node.ts";
import { cpuMsBelow } from "../process-tree.ts";

/** As much of something as the size says, in its own store. Dispose of it: that stops its processes. */
export interface Point extends AsyncDisposable {
  /** Works for this long, or for one unit if that takes longer: processor time of a part (µs), with all threads and processes. */
  readonly cost: (ms: number) => Promise<number>;
}

/** What grows, and what should not cost more because of that. */
export interface Axis {
  readonly name: string;
  readonly title: string;
  /** What is counted along the axis. */
  readonly of: string;
  /** What the cost is that of. */
  readonly per: string;
  readonly sizes: readonly number[];
  readonly open: (size: number, folder: string) => Promise<Point>;
}

let databases = 0;
const pathIn = (folder: string): string => join(folder, `scale-${databases++}.db`);
const nodeIn = (folder: string, options: TaskNodeOptions = {}): Promise<TaskNode> =>
  TaskNode.start(sqliteStore(pathIn(folder)), options);

/** Calls `work` so many times, a hundred at a time. */
async function times(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: 100 }, worker));
}

/** Units of a node in this process, 20 at a time; `parts`, one at a time, if the cost is that of a step or a kilobyte. */
const unitsOf = (node: TaskNode, unit: () => Promise<void> = () => node.life(), parts?: number): Point => ({
  async cost(ms) {
    const before = process.cpuUsage();
    const { done } = await unitsIn(unit, ms, parts === undefined ? 20 : 1);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / done / (parts ?? 1);
  },
  [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
});

/** Processes that work on one store, and the database that they do not run themselves. */
function groupOf(group: NodeGroup, server?: OwnServer): Point {
  return {
    async cost(ms) {
      const before = server === undefined ? 0 : cpuMsBelow(server.pid);
      const { lives, cpuMs } = await group.work(ms);
      const spent = server === undefined ? 0 : cpuMsBelow(server.pid) - before;
      return ((cpuMs + spent) * 1_000) / lives;
    },
    async [Symbol.asyncDispose]() {
      await group[Symbol.asyncDispose]();
      await server?.end();
    },
  };
}

const perLife = "life of a task";

export const axes: readonly Axis[] = [
  {
    name: "retained",
    title: "Finished tasks in the store",
    of: "tasks",
    per: perLife,
    sizes: [1_000, 10_000, 100_000, 1_000_000, 10_000_000],
    async open(size, folder) {
      const path = pathIn(folder);
      const first = await TaskNode.start(sqliteStore(path));
      await first.life();
      await first[Symbol.asyncDispose]();
      // By SQL: as many lives would take hours.
      copyTask(path, size);
      return unitsOf(await TaskNode.start(sqliteStore(path)));
    },
  },
  {
    name: "parked",
    title: "Tasks that wait for an event",
    of: "tasks",
    per: perLife,
    sizes: [1, 10, 100, 1_000, 10_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      await times(size, () => node.create(newId(), { tool: "wait" }));
      return unitsOf(node);
    },
  },
  {
    name: "running",
    title: "Handlers that run and wait for something else",
    of: "handlers",
    per: perLife,
    sizes: [1, 10, 100, 1_000, 10_000],
    async open(size, folder) {
      const node = await nodeIn(folder, { concurrency: size + 64 });
      await times(size, () => node.create(newId(), { tool: "hold" }));
      return unitsOf(node);
    },
  },
  {
    name: "listeners",
    title: "Tasks that somebody listens to",
    of: "listeners",
    per: perLife,
    sizes: [1, 10, 100, 1_000, 10_000, 20_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      for (let n = 0; n < size; n++) node.watch(newId(), () => undefined);
      return unitsOf(node);
    },
  },
  {
    name: "principals",
    title: "Callers, in turn",
    of: "principals",
    per: perLife,
    sizes: [1, 10, 100, 1_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      let n = 0;
      return unitsOf(node, () => node.life(`caller ${n++ % size}`));
    },
  },
  {
    name: "steps",
    title: "Steps of a task",
    of: "steps",
    per: "step",
    sizes: [10, 100, 1_000, 10_000, 50_000],
    open: async (size, folder) => unitsOf(await nodeIn(folder, { steps: size }), undefined, size),
  },
  {
    name: "results",
    title: "Bytes of a result",
    of: "bytes",
    per: "kilobyte of the result",
    sizes: [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
    open: async (size, folder) => unitsOf(await nodeIn(folder, { bytes: size }), undefined, size / 1_000),
  },
  {
    name: "processes",
    title: "Processes on one SQLite file",
    of: "processes",
    per: perLife,
    sizes: [1, 2, 4, 8],
    async open(size, folder) {
      const url = `sqlite:${pathIn(folder)}`;
      return groupOf(await NodeGroup.start(Array.from({ length: size }, () => ({ url, inFlight: 20 }))));
    },
  },
  {
    name: "processes-postgres",
    title: "Processes on one Postgres",
    of: "processes",
    per: perLife,
    sizes: [1, 2, 4, 8],
    async open(size) {
      const server = await OwnServer.start();
      const settings = { url: server.url, schema: "scale", inFlight: 20 };
      return groupOf(await NodeGroup.start(Array.from({ length: size }, () => settings)), server);
    },
  },
];
