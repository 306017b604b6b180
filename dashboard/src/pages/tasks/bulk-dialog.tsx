import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { BulkAction, BulkResult } from "../../../../src/admin/admin.ts";
import { useServices } from "../../api/services.ts";
import { useAct } from "../../live/use-act.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Problem } from "../../parts/problem.tsx";
import { notify } from "../../parts/notices.tsx";
import { PlannedTasks, RefusedTasks } from "./bulk-lists.tsx";
import { isEmpty, selectionOf, type TaskFilter } from "./task-filter.ts";

const actions: readonly (readonly [BulkAction, string, string])[] = [
  ["cancel", "Cancel", "cancelled"],
  ["retry", "Run again", "run again"],
  ["delete", "Delete", "deleted"],
  ["extend", "Extend by a day", "extended"],
];

const dayMs = 86_400_000;

interface Plan {
  readonly result: BulkResult;
  /** When the dialog was opened: ages are counted from then, so that the action matches what was shown. */
  readonly at: number;
}

/** Applies an action to all tasks that the filter selects, after showing what it would change. */
export function BulkDialog({
  filter,
  onClose,
}: {
  readonly filter: TaskFilter;
  readonly onClose: () => void;
}): JSX.Element {
  const { admin, session } = useServices();
  const [action, setAction] = useState<BulkAction>("cancel");
  const [plan, setPlan] = useState<Plan>();
  const [outcome, setOutcome] = useState<BulkResult>();
  const { isBusy, error, run } = useAct();
  const [, label, done] = actions.find(([name]) => name === action) ?? ["", "", ""];

  const bulk = (dryRun: boolean, at: number): Promise<BulkResult> =>
    admin
      .as(session.actor)
      .bulk(action, selectionOf(filter, at), { dryRun, ...(action === "extend" && { until: at + dayMs }) });
  const look = (): Promise<boolean> =>
    run(async () => {
      const at = Date.now();
      setPlan({ result: await bulk(true, at), at });
    });
  const act = (at: number): Promise<boolean> =>
    run(async () => {
      const result = await bulk(false, at);
      if (result.refused.length > 0) return setOutcome(result);
      notify(`${tasksText(result.done.length)} ${done}.`);
      onClose();
    });

  if (outcome !== undefined)
    return (
      <Dialog title="Bulk action" onClose={onClose}>
        <p role="status">
          {tasksText(outcome.done.length)} {done}. {tasksText(outcome.refused.length)} could not be {done}:
        </p>
        <RefusedTasks refused={outcome.refused} />
        <div class="buttons">
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="Bulk action" onClose={onClose}>
      <p>
        {isEmpty(filter)
          ? "No filter is set, so this applies to all tasks."
          : "This applies to all tasks that match the filter, on all pages of the list."}
      </p>
      <fieldset>
        <legend>Action</legend>
        {actions.map(([name, text]) => (
          <label key={name}>
            <input
              type="radio"
              name="action"
              checked={name === action}
              onChange={() => {
                setAction(name);
                setPlan(undefined);
              }}
            />
            {text}
          </label>
        ))}
      </fieldset>
      {plan !== undefined && (
        <>
          <p role="status">
            {tasksText(plan.result.done.length)} would be {done}.
            {plan.result.next !== null && " More tasks match. Repeat the action for the rest."}
          </p>
          <PlannedTasks ids={plan.result.done} />
        </>
      )}
      {error !== undefined && <Problem error={error} />}
      <div class="buttons">
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
        <button type="button" disabled={isBusy} onClick={() => void look()}>
          Preview
        </button>
        {plan !== undefined && plan.result.done.length > 0 && (
          <button type="button" class="danger" disabled={isBusy} onClick={() => void act(plan.at)}>
            {label} {plan.result.done.length}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function tasksText(count: number): string {
  return count === 1 ? "1 task" : `${count.toLocaleString()} tasks`;
}
