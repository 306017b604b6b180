import type { JSX } from "preact";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { usePageTitle } from "../../parts/page-title.ts";
import { Behind, isBehind } from "../../parts/behind.tsx";
import { PeriodChoice } from "../../parts/period-choice.tsx";
import { periodIn } from "../../parts/period.ts";
import { Problem } from "../../parts/problem.tsx";
import { Link } from "../../routing/link.tsx";
import { StepLatency, ToolFailures } from "./tool-failures.tsx";
import { toolRows } from "./tool-rows.ts";
import { ToolTable } from "./tool-table.tsx";
import { TopCallers } from "./top-callers.tsx";

/** How often processes report their counts. */
const everyMs = 10_000;
/** Counting takes longer the more tasks there are. */
const restMs = 3_000;

export function ToolsPage({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const { admin, session } = useServices();
  const tool = query.get("tool");
  const { period, minutes } = periodIn(query);
  usePageTitle(tool ?? "Tools");
  const activity = useLoaded(`activity ${minutes}`, () => admin.activity({ minutes }), {
    restMs: everyMs,
    everyMs,
  });
  const counts = useLoaded("counts", () => admin.counts(), { restMs, isOld: isBehind });
  const rows = activity.value && counts.value && toolRows(activity.value, counts.value);
  const shown = tool === null ? rows : rows?.filter((row) => row.tool === tool);
  return (
    <>
      <div class="heading">
        <h1>{tool === null ? "Tools" : `Tool ${tool}`}</h1>
        <PeriodChoice path="/tools" query={query} />
      </div>
      {tool !== null && (
        <p>
          <Link to={period === "1h" ? "/tools" : `/tools?period=${period}`}>All tools</Link>
        </p>
      )}
      {[activity, counts].map(
        ({ error, reload }, place) => error && <Problem key={place} error={error} reload={reload} />,
      )}
      {shown === undefined && !activity.error && !counts.error && <p class="empty">Loading…</p>}
      {shown?.length === 0 && (
        <p class="empty">
          {tool === null
            ? "No tool has had any tasks yet."
            : "This tool has no tasks, and had none in this period."}
        </p>
      )}
      {shown !== undefined && shown.length > 0 && (
        <>
          <Behind ms={counts.value?.behindMs} />
          <ToolTable rows={shown} query={query} onChange={counts.reload} />
        </>
      )}
      {tool === null && may(session, "read") && <TopCallers minutes={minutes} />}
      {tool !== null && <ToolFailures key={tool} tool={tool} />}
      {tool !== null && <StepLatency key={tool} tool={tool} />}
    </>
  );
}
