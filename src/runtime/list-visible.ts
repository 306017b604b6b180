import type { TaskOwner, TaskStore } from "../store/store.ts";
import type { TaskRecord } from "../task/record.ts";
import { hasScopes } from "../task/required-scopes.ts";
import type { ListPage } from "./runtime.ts";

/** A page of an owner's tasks without those that need more than `scopes`, which make no page shorter. */
export async function listVisible(
  store: Pick<TaskStore, "list">,
  owner: TaskOwner,
  { after, limit }: ListPage,
  scopes: readonly string[] | undefined,
  now: number,
): Promise<readonly TaskRecord[]> {
  const tasks: TaskRecord[] = [];
  for (let before = after ?? null; tasks.length < limit;) {
    const wanted = limit - tasks.length;
    const page = await store.list(owner, before, wanted, now);
    tasks.push(...page.filter((task) => hasScopes(task, scopes)));
    const last = page.at(-1);
    if (page.length < wanted || last === undefined) break;
    before = last.id;
  }
  return tasks;
}
