/** How many tasks each tool has, by state: exactly up to a number, and beyond it as the store estimates them, if it can. */

import type { AdminStore, AlikeTasks, EndedAs } from "../store/admin-store.ts";
import { nextTurn } from "../runtime/wait-for.ts";
import { waitsForOf } from "../task/task-line.ts";
import {
  type AdminTaskState,
  type Counts,
  type ToolCounts,
  type WaitCounts,
  adminWaitReasons,
  endCounts,
  openCounts,
} from "./admin.ts";
import type { ShownFrom } from "./admin-store-of.ts";
import { adminStateOf } from "./select-tasks.ts";

/** The limit of exact counts: larger ones take longer, and operators do not go through so many tasks one by one. */
export const mostCounted = 10_000;

/** Unfinished tasks to read at a time. */
const openAtOnce = 500;

export type ToolEnds = Pick<ToolCounts, (typeof endCounts)[number]>;

type OpenCounts = Pick<ToolCounts, (typeof openCounts)[number] | "waitsFor">;

type AllCounts = OpenCounts & ToolEnds;

const none: AllCounts = {
  queued: 0,
  waiting: 0,
  running: 0,
  inputRequired: 0,
  blocked: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  waitsFor: Object.fromEntries(adminWaitReasons.map((reason) => [reason, 0])) as WaitCounts,
};

/** Reads the unfinished tasks, and counts the finished ones by the index, unless that was slow recently. */
export async function countTasks(
  admin: Pick<AdminStore, "paused">,
  ends: EndedCounts,
  from: Omit<ShownFrom, "between">,
): Promise<Counts> {
  const [pausedTools, endedTools, open] = await Promise.all([
    admin.paused(),
    from.endedTools(),
    countOpen(from),
  ]);
  const paused = new Map(pausedTools.map(({ tool, since, actor }) => [tool, { since, actor }]));
  const ended = new Map(
    await Promise.all(endedTools.map(async (tool) => [tool, await ends.of(from, tool)] as const)),
  );
  const isCut = [...ended.values()].some((of) => endCounts.some((name) => of[name] >= mostCounted));
  const estimates = open.isCut || isCut ? await ends.estimates(from) : undefined;
  const names = [...ended.keys(), ...open.tools.keys(), ...paused.keys(), ...(estimates?.keys() ?? [])];
  return {
    most: mostCounted,
    tools: [...new Set(names)].sort().map((tool) => ({
      tool,
      ...withEstimates(
        { ...none, ...open.tools.get(tool), ...ended.get(tool) },
        estimates?.get(tool),
        open.isCut,
      ),
      paused: paused.get(tool) ?? null,
    })),
  };
}

/** The counts with estimates in place of those that end too early. */
function withEstimates(
  exact: AllCounts,
  about: AllCounts | undefined,
  isOpenCut: boolean,
): AllCounts & Pick<ToolCounts, "estimated"> {
  if (about === undefined) return exact;
  const estimated = [
    ...openCounts.filter((name) => isOpenCut && about[name] > exact[name]),
    ...endCounts.filter((name) => exact[name] >= mostCounted && about[name] > exact[name]),
  ];
  if (estimated.length === 0) return exact;
  const waits = adminWaitReasons.map((reason) => [
    reason,
    isOpenCut ? Math.max(exact.waitsFor[reason], about.waitsFor[reason]) : exact.waitsFor[reason],
  ]);
  return {
    ...exact,
    ...Object.fromEntries(estimated.map((name) => [name, about[name]])),
    waitsFor: Object.fromEntries(waits) as WaitCounts,
    estimated,
  };
}

/** Tasks in the same state. */
type Alike = Parameters<typeof adminStateOf>[0] & Parameters<typeof waitsForOf>[0];

/** With so many more tasks of a tool. */
function plus(counts: AllCounts, task: Alike, tasks: number): AllCounts {
  const name = nameOf(adminStateOf(task));
  const reason = waitsForOf(task);
  const { waitsFor } = counts;
  return {
    ...counts,
    [name]: counts[name] + tasks,
    waitsFor: reason === null ? waitsFor : { ...waitsFor, [reason]: waitsFor[reason] + tasks },
  };
}

function nameOf(state: AdminTaskState): Exclude<keyof AllCounts, "waitsFor"> {
  return state === "input_required" ? "inputRequired" : state;
}

/** Counts the newest unfinished tasks, by tool. */
async function countOpen(
  from: Pick<AdminStore, "tasks">,
): Promise<{ readonly tools: ReadonlyMap<string, OpenCounts>; readonly isCut: boolean }> {
  const tools = new Map<string, AllCounts>();
  let before: string | null = null;
  for (let read = 0; read < mostCounted;) {
    const tasks = await from.tasks({ of: "open" }, before, openAtOnce);
    for (const task of tasks) tools.set(task.tool, plus(tools.get(task.tool) ?? none, task, 1));
    read += tasks.length;
    before = tasks.at(-1)?.id ?? null;
    if (tasks.length < openAtOnce) return { tools: openOf(tools), isCut: false };
    await nextTurn();
  }
  return { tools: openOf(tools), isCut: true };
}

/** Without those that ended while they were read. */
function openOf(tools: ReadonlyMap<string, AllCounts>): ReadonlyMap<string, OpenCounts> {
  return new Map(
    [...tools].map(([tool, { completed: _, failed: __, cancelled: ___, ...open }]) => [tool, open]),
  );
}

function byTool(groups: readonly AlikeTasks[]): ReadonlyMap<string, AllCounts> {
  const tools = new Map<string, AllCounts>();
  for (const { tool, tasks, ...alike } of groups)
    tools.set(tool, plus(tools.get(tool) ?? none, alike, tasks));
  return tools;
}

interface Reading {
  readonly result: Promise<unknown>;
  /** Epoch ms; it is repeated after that. */
  until: number;
}

/** A count that takes longer (ms) is cached. */
const slowMs = 100;

/** How many times as long as it took a result is kept, so that a page left open uses at most a fifth of the database. */
const keptTimes = 4;

/** How the tasks of each tool ended. A large database takes long to count, so concurrent and soon repeated reads share one result. */
export class EndedCounts {
  readonly #most: number;
  readonly #now: () => number;
  readonly #readings = new Map<string, Reading>();

  /** Counts end at `most`. */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  of(admin: Pick<AdminStore, "count">, tool: string): Promise<ToolEnds> {
    return this.#shared(`ends of ${tool}`, () => this.#count(admin, tool));
  }

  /** Of all tasks, by tool; undefined if the store makes none. */
  async estimates(admin: Pick<AdminStore, "estimate">): Promise<ReadonlyMap<string, AllCounts> | undefined> {
    if (admin.estimate === undefined) return undefined;
    return this.#shared("estimates", async () => byTool((await admin.estimate?.()) ?? []));
  }

  #shared<T>(name: string, read: () => Promise<T>): Promise<T> {
    const known = this.#readings.get(name);
    if (known !== undefined && this.#now() < known.until) return known.result as Promise<T>;
    const result = read();
    const reading: Reading = { result, until: Infinity };
    this.#readings.set(name, reading);
    const begun = this.#now();
    const forget = (): void => void (this.#readings.get(name) === reading && this.#readings.delete(name));
    result.then(() => {
      const took = this.#now() - begun;
      if (took < slowMs) forget();
      else reading.until = this.#now() + keptTimes * took;
    }, forget);
    return result;
  }

  async #count(admin: Pick<AdminStore, "count">, tool: string): Promise<ToolEnds> {
    const of = (as: EndedAs): Promise<number> => admin.count({ of: "ended", tool, as }, this.#most);
    const [completed, error, errorResult, cancelled] = await Promise.all([
      of("result"),
      of("error"),
      of("error_result"),
      of("cancelled"),
    ]);
    return { completed, failed: Math.min(this.#most, error + errorResult), cancelled };
  }
}
