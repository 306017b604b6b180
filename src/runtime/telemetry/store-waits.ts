import type { AdminStore } from "../../store/admin-store.ts";
import { waitsForOf, type TaskWait } from "../../task/waits-for.ts";
import { nextTurn } from "../next-turn.ts";

/** The number of a tool's tasks that wait for the same. */
export interface WaitingTasks {
  readonly tool: string;
  readonly reason: TaskWait;
  readonly tasks: number;
}

const page = 500;

/** What the newest `most` unfinished tasks of a store wait for. */
export async function waitsIn(
  admin: Pick<AdminStore, "tasks">,
  most: number,
): Promise<readonly WaitingTasks[]> {
  const counts = new Map<string, WaitingTasks>();
  let before: string | null = null;
  for (let read = 0; read < most; read += page) {
    const tasks = await admin.tasks({ of: "open" }, before, page);
    for (const task of tasks) {
      const [{ tool }, reason] = [task, waitsForOf(task)];
      if (reason === null) continue;
      const key = `${reason} ${tool}`;
      counts.set(key, { tool, reason, tasks: (counts.get(key)?.tasks ?? 0) + 1 });
    }
    before = tasks.at(-1)?.id ?? null;
    if (tasks.length < page) break;
    await nextTurn();
  }
  return [...counts.values()];
}
