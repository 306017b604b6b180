import { hasScopes } from "../task/scopes.ts";
import type { TaskRecord } from "../task/record.ts";
import type { ListPage, Requestor } from "./runtime.ts";
import type { Services } from "./services.ts";

/** A page of a requestor's tasks. Tasks that need more scopes than it has are left out, without making the page shorter. */
export async function listVisible(
  { store, clock }: Services,
  { generation, principal, scopes }: Requestor,
  { scope, after, limit }: ListPage,
): Promise<readonly TaskRecord[]> {
  const owner = { generation, principal, ...(scope === undefined ? {} : { scope }) };
  const now = clock.now();
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
