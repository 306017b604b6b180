import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { BulkAction, BulkJobShown } from "../../../../src/admin/task-operations.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
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

/** How often to look how far it is. */
const lookEveryMs = 500;

interface Plan {
  readonly job: BulkJobShown;
  /** When the tasks were selected: ages are counted from then. */
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
  const [progress, setProgress] = useState<BulkJobShown>();
  const [fromStart, setFromStart] = useState(false);
  const { isBusy, error, run } = useAct();
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);
  const [, label, done] = actions.find(([name]) => name === action) ?? ["", "", ""];
  const allowed = actions.filter(([name]) => name !== "delete" || may(session, "admin"));
  const operator = admin.as(session.actor);

  const look = (): Promise<boolean> =>
    run(async () => {
      const at = Date.now();
      const { job } = await operator.bulk(action, selectionOf(filter, at), {
        dryRun: true,
        ...(action === "extend" && { until: at + dayMs }),
        ...(action === "retry" && fromStart && { fromStart }),
      });
      setPlan({ job: await admin.bulkJob(job), at });
    });
  /** Acts on the tasks that were shown, and on no others. It goes on when the dialog is closed. */
  const act = ({ job: { job }, at }: Plan): Promise<boolean> =>
    run(async () => {
      const acted = operator.bulk(action, selectionOf(filter, at), { job });
      acted.catch(() => undefined); // thrown below
      for (;;) {
        const rest = new Promise<"rest">((resolve) => void setTimeout(resolve, lookEveryMs, "rest"));
        const isAnswered = (await Promise.race([acted, rest])) !== "rest";
        if (isAnswered) await rest;
        if (!isOpen.current) return;
        const shown = await admin.bulkJob(job);
        setProgress(shown);
        if (shown.endedAt === null) continue;
        if (shown.counts.refused > 0 || shown.counts.open > 0) return;
        notify(`${tasksText(shown.counts.done)} ${done}.`);
        return onClose();
      }
    });

  if (progress !== undefined) {
    const { counts, endedAt, refused, job } = progress;
    const stop = (): void => void operator.cancelBulk(job).then(setProgress, () => undefined);
    return (
      <Dialog title="Bulk action" onClose={onClose}>
        <p role="status">
          {tasksText(counts.done)} {done}.
          {counts.refused > 0 &&
            ` ${tasksText(counts.refused)} could not be ${done}${refused.length > 0 ? ":" : "."}`}
          {counts.open > 0 &&
            ` ${tasksText(counts.open)} ${endedAt === null ? "to go" : "left as they were"}.`}
        </p>
        <RefusedTasks refused={refused} />
        {error !== undefined && <Problem error={error} />}
        {endedAt === null && <p class="about">It goes on when you close this.</p>}
        <div class="buttons">
          {endedAt === null && (
            <button type="button" class="danger" onClick={stop}>
              Stop
            </button>
          )}
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Bulk action" onClose={onClose}>
      <p>
        {isEmpty(filter)
          ? "No filter is set, so this applies to all tasks."
          : "This applies to all tasks that match the filter, on all pages of the list."}
      </p>
      <fieldset>
        <legend>Action</legend>
        {allowed.map(([name, text]) => (
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
      {action === "retry" && (
        <>
          <label>
            <input
              type="checkbox"
              checked={fromStart}
              onChange={({ currentTarget }) => {
                setFromStart(currentTarget.checked);
                setPlan(undefined);
              }}
            />
            From the start, as new
          </label>
          <p class="about">
            {fromStart
              ? "Everything runs again, also what succeeded, with new idempotency keys. Payments that went through are made again."
              : "What succeeded is kept. The rest runs again, with the same idempotency keys."}
          </p>
        </>
      )}
      {plan !== undefined && (
        <>
          <p role="status">
            {tasksText(plan.job.counts.open)} would be {done}. Tasks that come later are left alone.
          </p>
          <PlannedTasks ids={plan.job.done} total={plan.job.counts.open} />
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
        {plan !== undefined && plan.job.counts.open > 0 && (
          <button type="button" class="danger" disabled={isBusy} onClick={() => void act(plan)}>
            {label} {plan.job.counts.open}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function tasksText(count: number): string {
  return count === 1 ? "1 task" : `${count.toLocaleString()} tasks`;
}
