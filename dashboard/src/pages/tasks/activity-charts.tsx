import type { JSX } from "preact";
import type { Activity } from "../../../../src/admin/activity.ts";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { Sparkline } from "../../parts/sparkline.tsx";

/** How often processes report their counts. */
const everyMs = 10_000;

/** How many tasks were created, and how they ended, in each minute of the last hour. */
export function ActivityCharts(): JSX.Element | null {
  const { admin } = useServices();
  const { value } = useLoaded("activity", () => admin.activity({ minutes: 60 }), {
    restMs: everyMs,
    everyMs,
  });
  if (value === undefined) return <div class="sparks" aria-hidden="true" />;
  return (
    <section class="sparks" aria-label="The last hour">
      <Sparkline label="created in the last hour" numbers={value.created} kind="running" />
      <Sparkline label="ended" numbers={endedOf(value)} kind="completed" />
      <Sparkline label="failed" numbers={value.failed} kind="failed" />
    </section>
  );
}

function endedOf({ completed, failed, cancelled }: Activity): readonly number[] {
  return completed.map((count, minute) => count + (failed[minute] ?? 0) + (cancelled[minute] ?? 0));
}
