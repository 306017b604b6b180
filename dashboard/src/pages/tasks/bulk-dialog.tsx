import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { BulkAction, BulkResult } from "../../../../src/admin/admin.ts";
import { useServices } from "../../api/services.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Problem } from "../../parts/problem.tsx";
import { notify } from "../../parts/notices.tsx";
import { selectionOf, type TaskFilter } from "./task-filter.ts";

const actions: readonly (readonly [BulkAction, string, string])[] = [
  ["cancel", "Cancel", "cancelled"],
  ["retry", "Run again", "run again"],
  ["delete", "Delete", "deleted"],
  ["extend", "Extend by a day", "extended"],
];

const dayMs = 86_400_000;

interface Plan {
  readonly result: BulkResult;
  /** When it was made: an age is counted from then, so that what is done is what was shown. */
  readonly at: number;
}

/** Does something to all tasks that are listed, once it was shown what that would change. */
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
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [, , done = ""] = actions.find(([name]) => name === action) ?? [];

  const bulk = (dryRun: boolean, at: number): Promise<BulkResult> =>
    admin
      .as(session.actor)
      .bulk(action, selectionOf(filter, at), { dryRun, ...(action === "extend" && { until: at + dayMs }) });
  const run = async (act: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await act();
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)));
    }
    setBusy(false);
  };
  const look = (): Promise<void> =>
    run(async () => {
      const at = Date.now();
      setPlan({ result: await bulk(true, at), at });
    });
  const act = (at: number): Promise<void> =>
    run(async () => {
      const result = await bulk(false, at);
      notify(
        `${result.done.length} ${result.done.length === 1 ? "task" : "tasks"} ${done}.${refusedText(result)}`,
      );
      onClose();
    });

  return (
    <Dialog title="Change all tasks that are listed" onClose={onClose}>
      <fieldset>
        <legend>What is done</legend>
        {actions.map(([name, label]) => (
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
            {label}
          </label>
        ))}
      </fieldset>
      {plan !== undefined && (
        <p role="status">
          <strong>{plan.result.done.length}</strong> {plan.result.done.length === 1 ? "task" : "tasks"} would
          be {done}.{refusedText(plan.result)}
          {plan.result.next !== null && " There are more, which are left for another time."}
        </p>
      )}
      {error !== undefined && <Problem error={error} />}
      <div class="buttons">
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
        <button type="button" disabled={isBusy} onClick={() => void look()}>
          Show what would change
        </button>
        {plan !== undefined && plan.result.done.length > 0 && (
          <button type="button" class="danger" disabled={isBusy} onClick={() => void act(plan.at)}>
            {actions.find(([name]) => name === action)?.[1]} {plan.result.done.length}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function refusedText({ refused }: BulkResult): string {
  return refused.length === 0 ? "" : ` ${refused.length} cannot be.`;
}
