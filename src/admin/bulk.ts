import type { TaskStore } from "../store/store.ts";
import { HoldfastError, isStoreFault } from "../task/fault.ts";
import { isTerminal } from "../task/outcome.ts";
import type { TaskRecord } from "../task/record.ts";
import type { BulkAction, BulkOptions, BulkResult, TaskSelection } from "./admin.ts";
import { adminOf } from "./admin-store-of.ts";
import { ProcessGone } from "./refusals.ts";
import { invalid } from "./operation.ts";
import type { AdminActs } from "./operations.ts";
import { selectTasks } from "./select-tasks.ts";

const defaultLimit = 1_000;
/** The number of tasks to find, and to change concurrently. */
const atOnce = 50;

type Act = Pick<AdminActs, "cancel" | "retry" | "delete" | "extend">;

/**
 * Applies an action to all selected tasks, newest first. Tasks that are created meanwhile are newer than all of them, and left unchanged.
 */
export async function bulk(
  store: TaskStore,
  act: Act,
  action: BulkAction,
  selection: TaskSelection,
  { dryRun = false, limit = defaultLimit, until, after }: BulkOptions,
): Promise<BulkResult> {
  const doIt = actionOf(act, action, until);
  const done: string[] = [];
  const created: string[] = [];
  const refused: { id: string; code: string; message: string }[] = [];
  let next: string | null = after ?? null;
  do {
    const wanted = Math.min(atOnce, limit - done.length - refused.length);
    const page = await selectTasks(adminOf(store), { retried: false, ...selection }, wanted, next);
    const meant = page.tasks.filter((task) => fits(action, task));
    const results = dryRun
      ? meant.map(() => undefined)
      : await Promise.allSettled(meant.map(({ id }) => doIt(id)));
    throwStoreFault(results);
    for (const [place, { id }] of meant.entries()) {
      const result = results[place];
      if (result?.status === "rejected") refused.push({ id, ...whyNot(result.reason) });
      else {
        done.push(id);
        if (action === "retry" && result?.value !== undefined) created.push(result.value);
      }
    }
    next = page.next;
  } while (next !== null && done.length + refused.length < limit);
  return { done, created, refused, next };
}

/** Single tasks may be locked or damaged. If none can be changed, the fault is the store's. */
function throwStoreFault(results: readonly (PromiseSettledResult<unknown> | undefined)[]): void {
  const faults = results.flatMap((result): readonly unknown[] =>
    result?.status === "rejected" && isFaultOfStore(result.reason) ? [result.reason] : [],
  );
  if (faults.length > 0 && faults.length === results.length) throw faults[0];
}

function isFaultOfStore(error: unknown): boolean {
  if (error instanceof ProcessGone) return false;
  return isStoreFault(error) || (error instanceof HoldfastError && error.code === "store_closed");
}

/** Resolves with the id of the task that it created, if any. */
function actionOf(
  act: Act,
  action: BulkAction,
  until: number | null | undefined,
): (id: string) => Promise<string | undefined> {
  switch (action) {
    case "cancel":
      return async (id) => void (await act.cancel(id));
    case "delete":
      return async (id) => {
        await act.delete(id);
        return undefined;
      };
    case "retry":
      return async (id) => (await act.retry(id)).id;
    case "extend": {
      if (until === undefined) throw invalid("Give until: the time until which to extend the tasks.");
      return async (id) => void (await act.extend(id, until));
    }
  }
}

/** Whether the action is possible in the task's state. What failed below a task is run again by it, or not at all. */
function fits(action: BulkAction, { state, parent }: TaskRecord): boolean {
  if (action === "extend") return true;
  if (action === "retry" && parent !== null) return false;
  return isTerminal(state) === (action !== "cancel");
}

function whyNot(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof HoldfastError) return { code: error.code, message: error.message };
  return { code: "internal", message: String(error) };
}
