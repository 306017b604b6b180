import { isOver } from "../task/expiry.ts";
import { unknownTask } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import { assertScopes } from "../task/required-scopes.ts";
import type { Sweeper } from "./dispatch/sweeper.ts";
import type { Requestor } from "./runtime.ts";
import type { Services } from "./services.ts";

/**
 * The record of a requestor's task, which has ended where its life is over. Reads no outcome, which may be large: another's
 * task takes no longer to refuse than none. Throws `unknown_task` for a task of somebody else and for one whose time is
 * over, and where a scope is missing.
 */
export async function ownRecord(
  { store, clock }: Services,
  sweeper: Pick<Sweeper, "ended">,
  id: string,
  requestor: Requestor,
): Promise<TaskRecord> {
  const found = await store.get(id);
  if (found === undefined) throw unknownTask();
  assertVisible(found, requestor, clock.now());
  const task = await sweeper.ended(found);
  if (task !== found) assertVisible(task, requestor, clock.now());
  return task;
}

function assertVisible(task: TaskRecord, { generation, principal, scopes }: Requestor, now: number): void {
  if (task.principal !== principal || task.generation !== generation || isOver(task, now))
    throw unknownTask();
  assertScopes(task, scopes);
}

/** The scopes that a task of the principal needs; undefined where there is none, or its time is over. */
export async function ownScopes(
  { store, clock }: Services,
  id: string,
  principal: string | null,
): Promise<readonly string[] | undefined> {
  const task = await store.get(id);
  if (task === undefined || task.principal !== principal || isOver(task, clock.now())) return undefined;
  return task.requiredScopes;
}
