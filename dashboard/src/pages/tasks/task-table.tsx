import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { TaskSummary } from "../../../../src/admin/admin.ts";
import { useNow } from "../../live/use-now.ts";
import { StateBadge } from "../../parts/state-badge.tsx";
import { taskText } from "../../parts/task-text.ts";
import { Ago, durationText } from "../../parts/time.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";

/** The keys j and k move between tasks, and Enter opens one. */
export function TaskTable({ tasks }: { readonly tasks: readonly TaskSummary[] }): JSX.Element {
  const now = useNow();
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (by: 1 | -1): void => {
    const links = [...(body.current?.querySelectorAll<HTMLAnchorElement>("a.task") ?? [])];
    const place = links.findIndex((link) => link === document.activeElement);
    links[place === -1 ? 0 : Math.min(links.length - 1, Math.max(0, place + by))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return (
    <>
      <div class="scroll">
        <table class="tasks">
          <caption class="hidden">Tasks, newest first</caption>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Tool</th>
              <th scope="col">Task</th>
              <th scope="col">Caller</th>
              <th scope="col">Created</th>
              <th scope="col">Duration</th>
              <th scope="col">Attempt</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody ref={body}>
            {tasks.map((task) => (
              <Row key={task.id} task={task} now={now} />
            ))}
          </tbody>
        </table>
      </div>
      {tasks.length > 0 && (
        <p class="faint keys">
          Keys: <kbd>j</kbd> and <kbd>k</kbd> move between tasks, <kbd>Enter</kbd> opens one, <kbd>/</kbd>{" "}
          goes to the status text.
        </p>
      )}
    </>
  );
}

function Row({ task, now }: { readonly task: TaskSummary; readonly now: number }): JSX.Element {
  const { id, state, waitsFor, tool, principal, createdAt, finishedAt, attempt } = task;
  return (
    <tr>
      <td>
        <StateBadge state={state} waitsFor={waitsFor} />
      </td>
      <td>
        <span class="name">{tool}</span>
      </td>
      <td>
        <Link to={taskPath(id)} class="task">
          {id}
        </Link>
      </td>
      <td>
        <span class={principal === null ? "faint" : "name"}>{principal ?? "anonymous"}</span>
      </td>
      <td>
        <Ago at={createdAt} now={now} />
      </td>
      <td>{durationText((finishedAt ?? Math.max(now, createdAt)) - createdAt)}</td>
      <td class="number">{attempt}</td>
      <td class="says">
        <Says task={task} />
      </td>
    </tr>
  );
}

/** A failed task's error; for others, their status and progress. */
function Says({ task }: { readonly task: TaskSummary }): JSX.Element {
  const { error, progress, finishedAt } = task;
  if (error !== null) return <span class="error">{error}</span>;
  const { progress: done = 0, total } = progress ?? {};
  return (
    <>
      {finishedAt === null && progress !== null && total !== undefined && total > 0 && (
        <progress value={done} max={total} aria-label="Progress" />
      )}
      {taskText(task)}
    </>
  );
}
