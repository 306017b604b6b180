import type { JSX } from "preact";
import type { Counts } from "../../../../../src/admin/admin.ts";
import type { Incident } from "../../../../../src/admin/incident-operations.ts";
import { useServices } from "../../../api/services.ts";
import { useLoaded } from "../../../live/use-loaded.ts";
import { useNow } from "../../../live/use-now.ts";
import { Problem } from "../../../parts/problem.tsx";
import { IncidentCard } from "./incident-card.tsx";

/** The most that are shown: whoever has more has another problem first. */
const most = 20;
const restMs = 3_000;

interface IncidentsProps {
  /** For which tools are paused. */
  readonly counts: Counts | undefined;
  /** A pause changes no task, so nothing else loads the counts again. */
  readonly onPause: () => void;
}

/** What is wrong now: causes whose failed tasks nobody has run again. Nothing if there are none. */
export function Incidents({ counts, onPause }: IncidentsProps): JSX.Element | null {
  const { admin } = useServices();
  const now = useNow();
  const load = (): Promise<readonly Incident[]> => admin.incidents({ limit: most });
  const {
    value = [],
    error,
    reload,
  } = useLoaded("incidents", load, { restMs, restTimes: 4, everyMs: 60_000 });
  if (error !== undefined) return <Problem error={error} reload={reload} />;
  const [loud, muted] = [value.filter(({ muted: is }) => !is), value.filter(({ muted: is }) => is)];
  const cards = (of: readonly Incident[]): JSX.Element => (
    <ul class="incidents">
      {of.map((incident) => (
        <li key={incident.cause}>
          <IncidentCard
            incident={incident}
            isPaused={counts?.tools.some(({ tool, paused }) => tool === incident.tool && paused !== null)}
            now={now}
            onChange={reload}
            onPause={onPause}
          />
        </li>
      ))}
    </ul>
  );
  if (value.length === 0) return null;
  return (
    <section aria-labelledby="incidents">
      <h2 id="incidents">
        Incidents <span class="faint number">{loud.length}</span>
      </h2>
      {loud.length > 0 && cards(loud)}
      {muted.length > 0 && (
        <details class="muted">
          <summary>{muted.length} muted</summary>
          {cards(muted)}
        </details>
      )}
    </section>
  );
}
