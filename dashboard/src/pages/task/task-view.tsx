import type { JSX } from "preact";
import type { TaskDetails } from "../../../../src/admin/admin.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { Json } from "../../parts/json.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Section } from "../../parts/section.tsx";
import { StateBadge } from "../../parts/state-badge.tsx";
import { taskText } from "../../parts/task-text.ts";
import { ActionTable } from "../actions/action-table.tsx";
import { ActBar } from "./acts/act-bar.tsx";
import { ChildTable } from "./child-table.tsx";
import { ErrorList } from "./error-list.tsx";
import { Files } from "./files.tsx";
import { Lines } from "./lines/lines.tsx";
import { LogView } from "./lines/log-view.tsx";
import { Questions } from "./questions/questions.tsx";
import { blockPart, partsOf } from "./result/result-parts.ts";
import { Part, ResultView } from "./result/result-view.tsx";
import { TaskFacts } from "./task-facts.tsx";
import { Timeline } from "./timeline/timeline.tsx";

interface TaskViewProps {
  readonly task: TaskDetails;
  /** Why it could not be loaded again. */
  readonly error: Error | undefined;
  readonly reload: () => void;
}

/** Everything about one task, starting with what needs an answer. */
export function TaskView({ task, error, reload }: TaskViewProps): JSX.Element {
  const { session } = useServices();
  return (
    <>
      <div class="heading">
        <h1>
          {task.tool} <StateBadge state={task.state} waitsFor={task.waitsFor} />
        </h1>
        {may(session, "act") && <ActBar task={task} onActed={reload} />}
      </div>
      {error !== undefined && <Problem error={error} reload={reload} />}
      <StatusText task={task} />
      <Questions task={task} onAnswered={reload} />
      <TaskFacts task={task} />
      <Section title="Timeline">
        <Timeline task={task} />
      </Section>
      {may(session, "read") ? (
        <div class="columns">
          <Section title="Arguments">
            <Json value={task.arguments} label="Arguments" />
          </Section>
          {task.outcome !== null && (
            <Section title={task.outcome.kind === "result" ? "Result" : "Error"}>
              <ResultView parts={partsOf(task.outcome.body)} />
            </Section>
          )}
        </div>
      ) : (
        <p class="empty">Your role does not show arguments, results, files and texts of tasks.</p>
      )}
      <ErrorList task={task} />
      {task.children.length > 0 && (
        <Section title="Unfinished tasks that it called">
          <ChildTable tasks={task.children} />
        </Section>
      )}
      {task.output.length > 0 && (
        <Section title="Output">
          <Lines label="Output" count={task.output.at(-1)?.["seq"]}>
            {task.output.map((line, place) => (
              <Part key={line["seq"] ?? place} part={blockPart(line["content"])} />
            ))}
          </Lines>
        </Section>
      )}
      {task.files.length > 0 && (
        <Section title="Files">
          <Files id={task.id} files={task.files} />
        </Section>
      )}
      {task.log.length > 0 && (
        <Section title="Log">
          <LogView log={task.log} />
        </Section>
      )}
      {task.actions.length > 0 && (
        <Section title="Operator actions">
          <ActionTable actions={task.actions} />
        </Section>
      )}
    </>
  );
}

/** The task's own status and progress. */
function StatusText({ task }: TaskViewProps | { task: TaskDetails }): JSX.Element | null {
  const { error, progress } = task;
  const text = taskText(task);
  const total = progress?.total;
  if (text === "" && progress === null) return null;
  return (
    <p class={error === null ? "status-text" : "status-text error"} role="status">
      {progress !== null && total !== undefined && total > 0 && (
        <progress value={progress.progress} max={total} aria-label="Progress" />
      )}
      {progress !== null && (
        <span class="number">
          {progress.progress}
          {total !== undefined && ` of ${total}`}
        </span>
      )}
      <span>{text}</span>
    </p>
  );
}
