import type { ComponentChildren, JSX } from "preact";
import type { TaskDetails } from "../../../../src/admin/admin.ts";
import { useServices } from "../../api/services.ts";
import { useNow } from "../../live/use-now.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Ago, durationText, Time } from "../../parts/time.tsx";
import { traceUrlOf } from "../../routing/trace-url.ts";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";
import { OuterLink } from "../../routing/outer-link.tsx";

/** A task's tool, owner and times. */
export function TaskFacts({ task }: { readonly task: TaskDetails }): JSX.Element {
  const { session } = useServices();
  const now = useNow();
  const { id, wireId, tool, toolVersion, principal, generation, method, owner, parent, retryOf } = task;
  const { createdAt, startedAt, finishedAt, expiresAt, wakesAt, cancelRequestedAt, retrieved } = task;
  const endless = finishedAt === null ? "none" : "someone deletes it";
  const trace = traceUrlOf(session.traceUrl, task.traceId);
  return (
    <dl class="facts card" aria-label="About this task">
      <Fact name="ID">
        <code>{id}</code> <CopyButton text={id} what="the ID" />
      </Fact>
      {wireId !== id && (
        <Fact name="Caller's ID">
          <code>{wireId}</code> <CopyButton text={wireId} what="the caller's ID" />
        </Fact>
      )}
      <Fact name="Tool">
        <Link to={listOf("tool", tool)}>{tool}</Link>
        {toolVersion !== null && `, version ${toolVersion}`}
      </Fact>
      <Fact name="Caller">
        {principal === null ? (
          <span class="faint">anonymous</span>
        ) : (
          <Link to={listOf("principal", principal)}>{principal}</Link>
        )}
      </Fact>
      <Fact name="Created">
        <Time at={createdAt} /> (<Ago at={createdAt} now={now} />)
      </Fact>
      {startedAt !== null && (
        <Fact name="Started">
          <Time at={startedAt} />, after {durationText(startedAt - createdAt)}
        </Fact>
      )}
      {finishedAt !== null && (
        <Fact name="Ended">
          <Time at={finishedAt} />, after {durationText(finishedAt - createdAt)}
        </Fact>
      )}
      {retrieved !== null && (
        <Fact name="Result retrieved">
          <Time at={retrieved.at} />, by {retrieved.via}
        </Fact>
      )}
      {wakesAt !== null && (
        <Fact name="Resumes">
          <Time at={wakesAt} />
        </Fact>
      )}
      <Fact name={finishedAt === null ? "Deadline" : "Kept until"}>
        {expiresAt === null ? endless : <Time at={expiresAt} />}
      </Fact>
      {cancelRequestedAt !== null && (
        <Fact name="Cancel requested">
          <Time at={cancelRequestedAt} />
        </Fact>
      )}
      <Fact name="Attempt">{attemptText(task)}</Fact>
      {owner !== null && (
        <Fact name="Node">
          <Link to={listOf("node", owner)}>{owner}</Link>
        </Fact>
      )}
      <Fact name="Protocol">
        {generation}, {method}
      </Fact>
      {task.requiredScopes.length > 0 && <Fact name="Scopes">{task.requiredScopes.join(" ")}</Fact>}
      {parent !== null && (
        <Fact name="Called by">
          <Link to={taskPath(parent)}>{parent}</Link>
        </Fact>
      )}
      {retryOf !== null && (
        <Fact name="Rerun of">
          <Link to={taskPath(retryOf)}>{retryOf}</Link>
        </Fact>
      )}
      {task.blocked !== null && <BlockedFacts blocked={task.blocked} />}
      {task.suspicion !== null && <Fact name="Suspected">{suspicionText(task.suspicion)}</Fact>}
      {task.retriedAs !== null && (
        <Fact name="Run again as">
          <Link to={taskPath(task.retriedAs)}>{task.retriedAs}</Link>
        </Fact>
      )}
      {task.traceId !== null && (
        <Fact name="Trace">
          {trace === undefined ? (
            <code>{task.traceId}</code>
          ) : (
            <OuterLink url={trace}>{task.traceId}</OuterLink>
          )}
        </Fact>
      )}
    </dl>
  );
}

function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The list of tasks with the same value. */
function listOf(name: "tool" | "principal" | "node", value: string): string {
  return `/?${new URLSearchParams({ [name]: value }).toString()}`;
}

function attemptText({ attempt, failures, crashes }: TaskDetails): string {
  const why = [
    ...(failures > 0 ? [`${failures} ${failures === 1 ? "error" : "errors"}`] : []),
    ...(crashes > 0 ? [`${crashes} ${crashes === 1 ? "crash" : "crashes"}`] : []),
  ];
  return why.length === 0 ? String(attempt) : `${attempt} (${why.join(", ")})`;
}

type Blocked = NonNullable<TaskDetails["blocked"]>;

/** Why the code does not fit the task, and in what the two differ. */
function BlockedFacts({ blocked }: { readonly blocked: Blocked }): JSX.Element {
  const { problem, key, was, is } = blocked;
  return (
    <>
      <Fact name="Blocked">{`${problem} ${blockedText(blocked)}`}</Fact>
      {key !== null && (
        <Fact name="Key">
          <code>{key}</code>
        </Fact>
      )}
      {was !== null && <Fact name="The task has">{was}</Fact>}
      {is !== null && <Fact name="The code has">{is}</Fact>}
    </>
  );
}

/** Where and how often the task did not fit the code. */
function blockedText({ since, tries, version, deploy }: Blocked): string {
  const code = [
    ...(version === null ? [] : [`version ${version}`]),
    ...(deploy === null ? [] : [`deploy ${deploy}`]),
  ].join(", ");
  const met = code === "" ? "" : ` Last met by ${code}.`;
  return `Since ${new Date(since).toLocaleString()}, tried ${tries === 1 ? "once" : `${tries} times`}.${met}`;
}

/** Whether the task may have ended the processes that ran it. */
function suspicionText({ since, clearedAt }: NonNullable<TaskDetails["suspicion"]>): string {
  const from = since === null ? "" : ` since ${new Date(since).toLocaleString()}`;
  if (clearedAt !== null)
    return `Of ending its process${from}. Cleared ${new Date(clearedAt).toLocaleString()}.`;
  return `Of ending its process${from}. It runs beside no other suspect until it makes progress.`;
}
