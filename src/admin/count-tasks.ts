import type { AdminStore } from "../store/admin-store.ts";
import { nextTurn } from "../runtime/next-turn.ts";
import type { TaskStore } from "../store/store.ts";
import type { Counts, FailureGroup, ToolCounts } from "./admin.ts";
import type { EndedCounts } from "./ended-counts.ts";
import { selectTasks } from "./select-tasks.ts";
import { errorText, adminStateOf } from "./summary.ts";

/** The limit of counts: larger ones take longer, and operators do not go through so many tasks one by one. */
export const mostCounted = 10_000;
/** Unfinished tasks to read at a time. */
const openAtOnce = 500;
/** Tasks whose outcomes are read at a time. */
const atOnce = 50;

/** Reads the unfinished tasks, and counts the finished ones by the index, unless that was slow recently. */
export async function countTasks(admin: AdminStore, ends: EndedCounts): Promise<Counts> {
  const [pausedTools, endedTools, open] = await Promise.all([
    admin.paused(),
    admin.endedTools(),
    countOpen(admin),
  ]);
  const paused = new Map(pausedTools.map(({ tool, since, actor }) => [tool, { since, actor }]));
  const names = [...new Set([...endedTools, ...open.keys(), ...paused.keys()])].sort();
  const tools = await Promise.all(
    names.map(async (tool): Promise<ToolCounts> => {
      const ended = await ends.of(admin, tool);
      return { tool, ...(open.get(tool) ?? noneOpen), ...ended, paused: paused.get(tool) ?? null };
    }),
  );
  return { most: mostCounted, tools };
}

type OpenCounts = Pick<ToolCounts, "queued" | "waiting" | "running" | "inputRequired">;
const noneOpen: OpenCounts = { queued: 0, waiting: 0, running: 0, inputRequired: 0 };

/** Counts the newest unfinished tasks, by tool. */
async function countOpen(admin: AdminStore): Promise<ReadonlyMap<string, OpenCounts>> {
  const counts = new Map<string, OpenCounts>();
  let before: string | null = null;
  for (let read = 0; read < mostCounted;) {
    const tasks = await admin.tasks({ of: "open" }, before, openAtOnce);
    for (const task of tasks) {
      const of = counts.get(task.tool) ?? noneOpen;
      const state = adminStateOf(task);
      const name = state === "input_required" ? "inputRequired" : state;
      if (name in of) counts.set(task.tool, { ...of, [name]: of[name as keyof OpenCounts] + 1 });
    }
    read += tasks.length;
    before = tasks.at(-1)?.id ?? null;
    if (tasks.length < openAtOnce) break;
    await nextTurn();
  }
  return counts;
}

/** The errors of the newest `limit` failed tasks of a tool, most frequent first. */
export async function failuresOf(
  store: TaskStore,
  admin: AdminStore,
  tool: string,
  limit: number,
): Promise<readonly FailureGroup[]> {
  const groups = new Map<string, FailureGroup>();
  let after: string | null = null;
  let left = limit;
  do {
    const { tasks, next } = await selectTasks(
      admin,
      { tool, states: ["failed"] },
      Math.min(left, atOnce),
      after,
    );
    const snapshots = await Promise.all(tasks.map(({ id }) => store.snapshot(id)));
    for (const snapshot of snapshots) {
      if (snapshot?.outcome == null) continue;
      const { id, finishedAt, createdAt } = snapshot.task;
      count(groups, errorText(snapshot.outcome) ?? "", id, finishedAt ?? createdAt);
    }
    left -= tasks.length;
    after = next;
  } while (after !== null && left > 0);
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** Failures that differ only in numbers (ids, times, sizes) are the same. */
function count(groups: Map<string, FailureGroup>, text: string, taskId: string, at: number): void {
  const message = text.replaceAll(/\d+/g, "…");
  const known = groups.get(message) ?? { message, count: 0, taskId, firstAt: at, lastAt: at };
  groups.set(message, {
    ...known,
    count: known.count + 1,
    firstAt: Math.min(known.firstAt, at),
    lastAt: Math.max(known.lastAt, at),
  });
}
