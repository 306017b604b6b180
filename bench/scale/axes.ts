import { join } from "node:path";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { rateOf } from "../postgres/in-flight.ts";
import { newId, TaskNode, type TaskNodeOptions } from "../postgres/task-node.ts";

/** A process with as much of something as the size says. Dispose of it: that stops it. */
export interface Point extends AsyncDisposable {
  /** One unit of work, whose cost is measured. */
  readonly unit: () => Promise<void>;
  /** How many parts of the cost are compared: steps of a task, or kilobytes of a result. Default 1. */
  readonly parts?: number;
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

const nodeIn = (folder: string, options: TaskNodeOptions = {}): Promise<TaskNode> =>
  TaskNode.start(sqliteStore(join(folder, `scale-${databases++}.db`)), options);

/** Calls `work` so many times, a hundred at a time. */
async function times(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: 100 }, worker));
}

const lifeOn = (node: TaskNode): Point => ({
  unit: () => node.life(),
  [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
});

export const axes: readonly Axis[] = [
  {
    name: "retained",
    title: "Finished tasks in the store",
    of: "tasks",
    per: "life of a task",
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      await times(size, () => node.life());
      return lifeOn(node);
    },
  },
  {
    name: "parked",
    title: "Tasks that wait for an event",
    of: "tasks",
    per: "life of a task",
    sizes: [1, 10, 100, 1_000, 10_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      await times(size, () => node.create(newId(), { tool: "wait" }));
      return lifeOn(node);
    },
  },
  {
    name: "listeners",
    title: "Tasks that somebody listens to",
    of: "listeners",
    per: "life of a task",
    sizes: [1, 10, 100, 1_000, 10_000, 20_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      for (let n = 0; n < size; n++) node.watch(newId(), () => undefined);
      return lifeOn(node);
    },
  },
  {
    name: "principals",
    title: "Callers, in turn",
    of: "principals",
    per: "life of a task",
    sizes: [1, 10, 100, 1_000],
    async open(size, folder) {
      const node = await nodeIn(folder);
      let n = 0;
      return { ...lifeOn(node), unit: () => node.life(`caller ${n++ % size}`) };
    },
  },
  {
    name: "steps",
    title: "Steps of a task",
    of: "steps",
    per: "step",
    sizes: [10, 100, 1_000, 10_000, 50_000],
    open: async (size, folder) => ({ ...lifeOn(await nodeIn(folder, { steps: size })), parts: size }),
  },
  {
    name: "results",
    title: "Bytes of a result",
    of: "bytes",
    per: "kilobyte of the result",
    sizes: [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
    open: async (size, folder) => ({ ...lifeOn(await nodeIn(folder, { bytes: size })), parts: size / 1_000 }),
  },
];

/** Processor time of a part (µs), with all threads of this process. A unit that takes longer than that is measured once. */
export async function costOf({ unit, parts = 1 }: Point, ms: number): Promise<number> {
  const before = process.cpuUsage();
  let units = 0;
  const counted = async (): Promise<void> => {
    await unit();
    units++;
  };
  await rateOf(counted, ms, parts > 1_000 ? 1 : 20);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / units / parts;
}
