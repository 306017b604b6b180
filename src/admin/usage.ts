/** Why tasks fail, whose tasks fail and take time, and which steps of a tool are slow: from a bounded number of stored tasks. */

import type { TaskStore } from "../store/store.ts";
import { stemOf, type JournalKind } from "../task/journal.ts";
import type { TaskRecord } from "../task/record.ts";
import { adminOf, readToShow } from "./admin-store-of.ts";
import { newestTasks, adminStateOf } from "./select-tasks.ts";
import type { Incident } from "./incident-operations.ts";
import { incidentsIn } from "./incidents.ts";
import type { Callers, CallersQuery, CallerUsage, StepLatency, ToolLatency } from "./activity.ts";

const mostTasks = 20_000;

const minuteMs = 60_000;

/** What took this long (ms) is answered again for this many times as long: however many look, it takes a twentieth of the time. */
const slowMs = 50;
const reuse = 20;

/** What is wrong now is known for less than a window waits, after a change, before it looks again (ms). */
const mostIncidentsMs = 2_000;

/** Different questions to know the answers of. */
const mostKnown = 100;

/** The reads of thousands of tasks, for all who ask the same at about the same time. */
export class UsageReads {
  readonly #store: TaskStore;
  readonly #now: () => number;
  readonly #known = new Map<
    string,
    { readonly answer: Promise<unknown>; readonly from: number; until: number }
  >();

  constructor(store: TaskStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  incidents({ tool, limit = 100 }: { tool?: string; limit?: number }): Promise<readonly Incident[]> {
    const read = (): Promise<readonly Incident[]> => incidentsIn(this.#store, this.#now(), { tool, limit });
    return this.#once(["incidents", limit, tool], read, mostIncidentsMs);
  }

  /** An operator has changed something, and looks at what came of it. */
  forget(): void {
    this.#known.clear();
  }

  callers(query: CallersQuery): Promise<Callers> {
    const { minutes, by, limit } = query;
    return this.#once(["callers", minutes, by, limit], () => callersOf(this.#store, this.#now(), query));
  }

  latency(tool: string, most: number): Promise<ToolLatency> {
    return this.#once(["latency", most, tool], () => latencyOf(this.#store, tool, most));
  }

  #once<T>(parts: readonly unknown[], read: () => Promise<T>, mostMs = Infinity): Promise<T> {
    const question = JSON.stringify(parts); // a tool may be called "undefined"
    const from = this.#now();
    const known = this.#known.get(question);
    // The clock may have been set back.
    if (known !== undefined && from >= known.from && from < known.until) return known.answer as Promise<T>;
    const answer = read();
    const asked = { answer, from, until: Infinity };
    this.#known.delete(question);
    this.#known.set(question, asked);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
    const ended = (isKept: boolean): void => {
      const endedAt = this.#now();
      const took = endedAt - from;
      asked.until = isKept && took >= slowMs ? endedAt + Math.min(reuse * took, mostMs) : 0;
    };
    answer.then(
      () => ended(true),
      () => ended(false),
    );
    return answer;
  }
}

/** The callers of the last minutes, from their newest tasks. */
function callersOf(
  store: TaskStore,
  now: number,
  { minutes = 60, by = "failures", limit = 20 }: CallersQuery,
): Promise<Callers> {
  const since = now - minutes * minuteMs;
  return readToShow(store, async (from) => {
    const callers = new Map<string | null, { -readonly [Each in keyof CallerUsage]: CallerUsage[Each] }>();
    let tasks = 0;
    let oldest = now;
    for await (const page of newestTasks(from, { createdFrom: since }, mostTasks)) {
      for (const task of page) {
        const { principal } = task;
        const known = callers.get(principal) ?? { principal, tasks: 0, failed: 0, workedMs: 0 };
        callers.set(principal, known);
        known.tasks++;
        known.failed += Number(adminStateOf(task) === "failed");
        known.workedMs += workedOn(task, now);
      }
      tasks += page.length;
      oldest = page.at(-1)?.createdAt ?? oldest;
    }
    const most = by === "time" ? order("workedMs", "failed") : order("failed", "workedMs");
    return {
      tasks,
      from: tasks < mostTasks ? since : oldest,
      callers: [...callers.values()].sort(most).slice(0, limit),
    };
  });
}

type Counted = Exclude<keyof CallerUsage, "principal">;

function order(first: Counted, then: Counted): (a: CallerUsage, b: CallerUsage) => number {
  return (a, b) => b[first] - a[first] || b[then] - a[then];
}

function workedOn({ attempts }: TaskRecord, now: number): number {
  return attempts.reduce((sum, { startedAt, endedAt }) => sum + Math.max(0, (endedAt ?? now) - startedAt), 0);
}

const mostEntries = 1_000;

/** Keys may have anything in them. */
const mostNames = 200;

/** Journals that are read at the same time. */
const atOnce = 10;

interface Durations {
  readonly name: string;
  readonly kind: JournalKind;
  readonly all: { readonly ms: number; readonly taskId: string }[];
}

/** How long the steps of the newest ended tasks of a tool took. */
async function latencyOf(store: TaskStore, tool: string, most: number): Promise<ToolLatency> {
  const steps = new Map<string, Durations>();
  const ended = { tool, states: ["completed", "failed", "cancelled"] } as const;
  let tasks = 0;
  let from: number | null = null;
  for await (const page of newestTasks(adminOf(store), ended, most)) {
    for (let at = 0; at < page.length; at += atOnce)
      await Promise.all(page.slice(at, at + atOnce).map(({ id }) => addSteps(store, id, steps)));
    tasks += page.length;
    from = page.at(-1)?.createdAt ?? from;
  }
  const slowest = [...steps.values()].map(latencyIn).sort((a, b) => b.p95Ms - a.p95Ms);
  return { tasks, from, steps: slowest.slice(0, mostNames) };
}

async function addSteps(store: TaskStore, taskId: string, steps: Map<string, Durations>): Promise<void> {
  const { entries } = await store.journal(taskId, "", mostEntries);
  for (const { key, kind, begunAt, doneAt } of entries) {
    if (begunAt === null || doneAt === null) continue;
    const name = stemOf(key);
    const id = `${kind} ${name}`;
    const known = steps.get(id) ?? { name, kind, all: [] };
    known.all.push({ ms: Math.max(0, doneAt - begunAt), taskId });
    steps.set(id, known);
  }
}

function latencyIn({ name, kind, all }: Durations): StepLatency {
  const sorted = all.toSorted((a, b) => a.ms - b.ms);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? { ms: 0, taskId: "" };
  const { ms: maxMs, taskId } = at(1);
  return { name, kind, count: all.length, p50Ms: at(0.5).ms, p95Ms: at(0.95).ms, maxMs, taskId };
}
