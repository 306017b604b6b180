import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { usePageTitle } from "../../parts/page-title.ts";
import { Problem } from "../../parts/problem.tsx";
import { stateNames } from "../../parts/state-badge.tsx";
import { TaskView } from "./task-view.tsx";

const restMs = 500;

/** The page of one task, which also follows the tasks that it called. */
export function TaskPage({ id }: { readonly id: string }): JSX.Element {
  const { admin } = useServices();
  const shown = useRef(new Set([id]));
  const {
    value: task,
    error,
    reload,
  } = useLoaded(id, () => admin.show(id), {
    restMs,
    concerns: (changed) => changed === null || changed.some((each) => shown.current.has(each)),
  });
  shown.current = new Set([id, ...(task?.children.map((child) => child.id) ?? [])]);
  usePageTitle(task === undefined ? "Task" : `${task.tool}: ${stateNames[task.state].toLowerCase()}`);
  if (task !== undefined) return <TaskView task={task} error={error} reload={reload} />;
  return (
    <>
      <h1>Task</h1>
      {error === undefined ? <p class="empty">Loading…</p> : <Problem error={error} reload={reload} />}
    </>
  );
}
