import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { BulkJobShown } from "../../../../../src/admin/task-operations.ts";
import type { Incident } from "../../../../../src/admin/incident-operations.ts";
import { useServices } from "../../../api/services.ts";
import { may } from "../../../api/session.ts";
import { Bars } from "../../../parts/bars.tsx";
import { attempt } from "../../../parts/notices.tsx";
import { Ago } from "../../../parts/time.tsx";
import { Link } from "../../../routing/link.tsx";
import { taskPath } from "../../../routing/task-path.ts";
import { tasksPath } from "../task-filter.ts";
import { incidentName, jobText, openText, versionsText } from "./incident-text.ts";
import { NoteDialog } from "./note-dialog.tsx";

interface IncidentCardProps {
  readonly incident: Incident;
  /** Undefined: that is not known yet. */
  readonly isPaused: boolean | undefined;
  readonly now: number;
  /** Called after an action. */
  readonly onChange: () => void;
  /** Called after the tool was paused or resumed. */
  readonly onPause: () => void;
}

/** A cause of failures, whom it hits, and what can be done about it. */
export function IncidentCard({ incident, isPaused, now, ...called }: IncidentCardProps): JSX.Element {
  const { session } = useServices();
  const { cause, tool, taskId, firstAt, lastAt, trend, note } = incident;
  const runbook = session.runbookUrl
    ?.replaceAll("{tool}", encodeURIComponent(tool))
    .replaceAll("{cause}", encodeURIComponent(cause));
  const name = incidentName(incident);
  const versions = versionsText(incident);
  return (
    <article class="incident" aria-label={name}>
      <h3>
        <Link to={tasksPath({ cause })}>{name}</Link>
      </h3>
      <p class="facts">
        <strong>{tool}</strong> <span>{openText(incident)}</span>{" "}
        <span>
          since <Ago at={firstAt} now={now} />
          {versions !== null && `, ${versions}`}
        </span>{" "}
        <span>
          last <Ago at={lastAt} now={now} /> in <Link to={taskPath(taskId)}>this task</Link>
        </span>{" "}
        {runbook !== undefined && (
          <a href={runbook} rel="noreferrer" aria-label={`Runbook: ${name}`}>
            Runbook
          </a>
        )}
      </p>
      <Bars label="failures in the last hour" numbers={trend} per="five minutes" />
      {note !== null && <p class="note">{note}</p>}
      <Acts incident={incident} isPaused={isPaused} {...called} />
    </article>
  );
}

function Acts({ incident, isPaused, onChange, onPause }: Omit<IncidentCardProps, "now">): JSX.Element | null {
  const { admin, session } = useServices();
  const [isBusy, setBusy] = useState(false);
  const [isNoting, setNoting] = useState(false);
  if (!may(session, "act")) return null;
  const { cause, tool, muted } = incident;
  const name = incidentName(incident);
  const acts = admin.as(session.actor);
  const run = async <T,>(act: () => Promise<T>, done: string | ((result: T) => string)): Promise<void> => {
    setBusy(true);
    await attempt(act, done);
    setBusy(false);
    onChange();
  };
  const pause = async (): Promise<void> => {
    await (isPaused === true
      ? run(() => acts.resume(tool), `Resumed ${tool}.`)
      : run(() => acts.pause(tool), `Paused ${tool}. None of its tasks start until you resume it.`));
    onPause();
  };
  const again = async (): Promise<BulkJobShown> => {
    const { job } = await acts.bulk("retry", { cause });
    return admin.bulkJob(job);
  };
  return (
    <div class="acts">
      <button
        type="button"
        disabled={isBusy}
        aria-label={`Run all again: ${name}`}
        title="What succeeded is kept. The rest runs again, with the same idempotency keys."
        onClick={() => void run(again, jobText)}
      >
        Run all again
      </button>
      {isPaused !== undefined && (
        <button type="button" class="quiet" disabled={isBusy} onClick={() => void pause()}>
          {isPaused ? "Resume" : "Pause"} {tool}
        </button>
      )}
      <button
        type="button"
        class="quiet"
        disabled={isBusy}
        aria-label={`${muted ? "Unmute" : "Mute"}: ${name}`}
        onClick={() =>
          void run(
            () => acts.mark(cause, muted ? { unmute: true } : { mute: true }),
            muted ? "It is not muted any more." : "Muted: it is shown below the others.",
          )
        }
      >
        {muted ? "Unmute" : "Mute"}
      </button>
      <button type="button" class="quiet" aria-label={`Note: ${name}`} onClick={() => setNoting(true)}>
        Note…
      </button>
      {isNoting && (
        <NoteDialog
          incident={incident}
          onClose={() => {
            setNoting(false);
            onChange();
          }}
        />
      )}
    </div>
  );
}
