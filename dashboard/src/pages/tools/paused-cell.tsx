import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ToolCounts } from "../../../../src/admin/admin.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { useNow } from "../../live/use-now.ts";
import { attempt } from "../../parts/notices.tsx";
import { Ago } from "../../parts/time.tsx";

interface PausedCellProps {
  readonly tool: string;
  readonly paused: ToolCounts["paused"];
  readonly onChange: () => void;
}

/** Whether the tool's tasks are started, and a button to change that. */
export function PausedCell({ tool, paused, onChange }: PausedCellProps): JSX.Element {
  const { admin, session } = useServices();
  const [isBusy, setBusy] = useState(false);
  const act = async (): Promise<void> => {
    setBusy(true);
    const acts = admin.as(session.actor);
    if (paused === null)
      await attempt(
        () => acts.pause(tool),
        `Paused ${tool}. None of its tasks start until you resume it; running tasks continue.`,
      );
    else await attempt(() => acts.resume(tool), `Resumed ${tool}.`);
    setBusy(false);
    onChange();
  };
  return (
    <>
      {paused !== null && <PausedBy paused={paused} />}
      {may(session, "act") ? (
        <button
          type="button"
          class="quiet"
          disabled={isBusy}
          aria-label={`${paused === null ? "Pause" : "Resume"} ${tool}`}
          onClick={() => void act()}
        >
          {paused === null ? "Pause" : "Resume"}
        </button>
      ) : (
        paused === null && "No"
      )}
    </>
  );
}

function PausedBy({
  paused: { actor, since },
}: {
  readonly paused: NonNullable<ToolCounts["paused"]>;
}): JSX.Element {
  const now = useNow();
  return (
    <p class="paused-by">
      Paused by {actor} <Ago at={since} now={now} />
    </p>
  );
}
