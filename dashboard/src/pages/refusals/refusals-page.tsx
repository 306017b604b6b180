import type { JSX } from "preact";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { usePageTitle } from "../../parts/page-title.ts";
import { PeriodChoice } from "../../parts/period-choice.tsx";
import { periodIn } from "../../parts/period.ts";
import { Problem } from "../../parts/problem.tsx";
import { grouped } from "./refusal-groups.ts";
import { RefusalCard } from "./refusal-card.tsx";

/** How often processes report their counts. */
const everyMs = 10_000;

export function RefusalsPage({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const { admin } = useServices();
  const { minutes } = periodIn(query);
  usePageTitle("Refusals");
  const { value, error, reload } = useLoaded(`activity ${minutes}`, () => admin.activity({ minutes }), {
    concerns: () => false, // a refusal changes no task
    everyMs,
  });
  const groups = value && grouped(value.refusals, value.minutes);
  return (
    <>
      <div class="heading">
        <h1>Refusals</h1>
        <PeriodChoice path="/refusals" query={query} />
      </div>
      {error !== undefined && <Problem error={error} reload={reload} />}
      {groups === undefined && error === undefined && <p class="empty">Loading…</p>}
      {groups?.length === 0 && <p class="empty">No requests were refused in this period.</p>}
      {groups?.map((group) => (
        <RefusalCard key={group.name} group={group} />
      ))}
    </>
  );
}
