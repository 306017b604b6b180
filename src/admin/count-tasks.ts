import type { AdminStore, EndedAs } from "../store/admin-store.ts";
import type { TaskStore } from "../store/store.ts";
import type { Counts, FailureGroup, ToolCounts } from "./admin.ts";
import { selectTasks } from "./select-tasks.ts";
import { errorText } from "./summary.ts";

/** No count goes further: what there are more of takes the longer to count, and nobody looks at them one by one. */
const mostCounted = 10_000;
/** Tasks whose outcomes are read together. */
const atOnce = 50;

export async function countTasks(admin: AdminStore): Promise<Counts> {
  const paused = new Map((await admin.paused()).map(({ tool, since, actor }) => [tool, { since, actor }]));
  const names = [...new Set([...(await admin.tools()), ...paused.keys()])].sort();
  const tools = await Promise.all(
    names.map(async (tool): Promise<ToolCounts> => {
      const ended = (as: EndedAs): Promise<number> => admin.count({ of: "ended", tool, as }, mostCounted);
      const [open, completed, error, errorResult, cancelled] = await Promise.all([
        admin.count({ of: "open", tool }, mostCounted),
        ended("result"),
        ended("error"),
        ended("error_result"),
        ended("cancelled"),
      ]);
      const failed = Math.min(mostCounted, error + errorResult);
      return { tool, open, completed, failed, cancelled, paused: paused.get(tool) ?? null };
    }),
  );
  const [running, inputRequired] = await Promise.all([
    admin.count({ of: "running" }, mostCounted),
    admin.count({ of: "asking" }, mostCounted),
  ]);
  return { most: mostCounted, tools, running, inputRequired };
}

/** What the newest `limit` failed tasks of a tool say, the most frequent first. */
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

/** Failures that differ in numbers alone are of one kind: ids, times, sizes. */
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
