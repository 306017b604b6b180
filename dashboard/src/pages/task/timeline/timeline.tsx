import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TaskDetails } from "../../../../../src/admin/admin.ts";
import { useNow } from "../../../live/use-now.ts";
import { durationText, Time } from "../../../parts/time.tsx";
import { Link } from "../../../routing/link.tsx";
import { taskPath } from "../../../routing/task-path.ts";
import { rowsOf, type RowKind, type TimelineRow } from "./timeline-rows.ts";
import { axisOf, barOf, type Axis, type Bar } from "./waterfall.ts";

const kindNames: Readonly<Record<RowKind, string>> = {
  queue: "queue",
  attempt: "attempt",
  step: "step",
  input: "question",
  sleep: "sleep",
  call: "call",
  event: "event",
  artifact: "artifact",
  loop: "loop",
  webhook: "webhook",
  cancel: "cancel",
};

/** The page of an ended task no longer changes. */
const never = 2 ** 31 - 1;

/** What happened to a task, as a table whose rows are also drawn as bars on one time axis. */
export function Timeline({ task }: { readonly task: TaskDetails }): JSX.Element {
  const now = useNow(task.finishedAt === null ? 1_000 : never);
  const rows = useMemo(() => rowsOf(task), [task]);
  const axis = axisOf(rows, task.createdAt, now);
  return (
    <>
      <div class="scroll waterfall" tabIndex={0} role="region" aria-label="Timeline, as a table">
        <table>
          <caption class="hidden">
            What happened to the task, in order. Times are measured from its creation.
          </caption>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" class="course">
                <span class="hidden">Chart</span>
                <Ticks axis={axis} />
              </th>
              <th scope="col" class="number began">
                Start
              </th>
              <th scope="col" class="number">
                Duration
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.id} row={row} axis={axis} now={now} />
            ))}
          </tbody>
        </table>
      </div>
      {task.timelineIsCut && <p class="faint">{cutText(task)}</p>}
    </>
  );
}

function cutText({ timeline, timelineSummary: { entries, failed, open } }: TaskDetails): string {
  const [shown, all] = [timeline.length.toLocaleString(), entries.toLocaleString()];
  return `${shown} of ${all} entries are shown: those that failed (${failed.toLocaleString()}) or have not ended (${open.toLocaleString()}), and the newest.`;
}

function Ticks({ axis }: { readonly axis: Axis }): JSX.Element {
  return (
    <span class="ticks" aria-hidden="true">
      {axis.ticks.map(({ text, left }) => (
        <span key={text} class={left > 88 ? "tick last" : "tick"} style={{ left: `${left}%` }}>
          {text}
        </span>
      ))}
    </span>
  );
}

function Row({
  row,
  axis,
  now,
}: {
  readonly row: TimelineRow;
  readonly axis: Axis;
  readonly now: number;
}): JSX.Element {
  const { kind, name, from, to, state, isFailed, notes, error, until, childId } = row;
  const begin = from ?? to;
  const bar = barOf(row, axis);
  return (
    <tr class={kind}>
      <th scope="row">
        {kind !== "attempt" && kind !== "queue" && kind !== "cancel" && (
          <span class="kind">{kindNames[kind]} </span>
        )}
        <span class="name">{name}</span> <span class={isFailed ? "error" : "faint"}>{state}</span>
        {notes.map((note) => (
          <span key={note} class="faint">
            , {note}
          </span>
        ))}
        {until !== null && (
          <span class="faint">
            , until <Time at={until} />
          </span>
        )}
        {childId !== null && (
          <>
            {" "}
            <Link to={taskPath(childId)}>Task {childId}</Link>
          </>
        )}
        {error !== null && <span class="why error">{error}</span>}
      </th>
      <td class="course">{bar !== undefined && <RowBar row={row} bar={bar} />}</td>
      <td class="number began">{begin === null ? "" : durationText(begin - axis.from)}</td>
      <td class="number">
        {from === null || bar?.isMark === true
          ? ""
          : `${durationText((to ?? Math.max(now, from)) - from)}${to === null ? "…" : ""}`}
      </td>
    </tr>
  );
}

function RowBar({ row, bar }: { readonly row: TimelineRow; readonly bar: Bar }): JSX.Element {
  const looks = ["bar", row.kind];
  if (row.isFailed) looks.push("bad");
  if (bar.isMark) looks.push("mark");
  if (bar.isOpen) looks.push("open");
  // Even a short entry at the very end must be visible.
  const left = `min(${bar.left}%, 100% - var(--least))`;
  return <span aria-hidden="true" class={looks.join(" ")} style={{ left, width: `${bar.width}%` }} />;
}
