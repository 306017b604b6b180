import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TaskPage } from "../../../../src/admin/admin.ts";
import { useServices, type Services } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { Behind, isBehind } from "../../parts/behind.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Link } from "../../routing/link.tsx";
import { navigate } from "../../routing/location.ts";
import { usePageTitle } from "../../parts/page-title.ts";
import { ActivityCharts } from "./activity-charts.tsx";
import { BulkDialog } from "./bulk-dialog.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { Incidents } from "./incidents/incidents.tsx";
import { StateCounts } from "./state-counts.tsx";
import { filterIn, isEmpty, pathOf, selectionOf, type TaskFilter } from "./task-filter.ts";
import { TaskTable } from "./task-table.tsx";

const pageSize = 50;
/** Counting takes longer the more tasks there are. */
const countsRestMs = 3_000;
/** The number of empty pages to skip at once: filters without an index search part by part. */
const mostEmptyPages = 10;

export function TasksPage({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const { base, admin, session } = useServices();
  const [isActing, setActing] = useState(false);
  usePageTitle("Tasks");
  const filter = filterIn(query);
  const after = query.get("after") ?? undefined;
  const page = useLoaded(query.toString(), () => listed(admin, filter, after), { isOld: isBehind });
  const { value: counts, reload: countAgain } = useLoaded("counts", () => admin.counts(), {
    restMs: countsRestMs,
    isOld: isBehind,
  });
  const show = (changed: Partial<TaskFilter>): void =>
    navigate(`${base}${pathOf({ ...filter, ...changed })}`, { replace: "text" in changed });
  return (
    <>
      <div class="heading">
        <h1>Tasks</h1>
        {may(session, "act") && (
          <button type="button" class="quiet" onClick={() => setActing(true)}>
            Bulk action…
          </button>
        )}
      </div>
      {isEmpty(filter) && after === undefined && <Incidents counts={counts} onPause={countAgain} />}
      <ActivityCharts />
      <StateCounts counts={counts} filter={filter} onChange={show} />
      {filter.cause !== "" && (
        <p class="of-cause">
          <span>Tasks that failed with one cause</span>
          <Link to={pathOf({ ...filter, cause: "" })}>Show other tasks too</Link>
        </p>
      )}
      <FilterBar counts={counts} filter={filter} onChange={show} />
      {page.error !== undefined && <Problem error={page.error} reload={page.reload} />}
      {page.value === undefined ? (
        page.error === undefined && <p class="empty">Loading…</p>
      ) : (
        <>
          <Behind ms={page.value.behindMs} />
          {page.value.tasks.length === 0 ? (
            <Nothing filter={filter} next={page.value.next} />
          ) : (
            <TaskTable tasks={page.value.tasks} />
          )}
          <nav class="pager" aria-label="Pages of the list">
            {after !== undefined && <Link to={pathOf(filter)}>Newest</Link>}
            {page.value.next !== null && <Link to={pathOf(filter, page.value.next)}>Older</Link>}
          </nav>
        </>
      )}
      {isActing && <BulkDialog filter={filter} onClose={() => setActing(false)} />}
    </>
  );
}

async function listed(
  admin: Services["admin"],
  filter: TaskFilter,
  after: string | undefined,
): Promise<TaskPage> {
  const selection = selectionOf(filter, Date.now());
  let page: TaskPage = { tasks: [], next: after ?? null };
  for (let read = 0; read < mostEmptyPages && page.tasks.length === 0; read++) {
    page = await admin.list({
      ...selection,
      limit: pageSize,
      ...(page.next !== null && { after: page.next }),
    });
    if (page.next === null) break;
  }
  return page;
}

function Nothing({
  filter,
  next,
}: {
  readonly filter: TaskFilter;
  readonly next: string | null;
}): JSX.Element {
  if (next !== null) return <p class="empty">No matches so far. Older tasks may match.</p>;
  return (
    <p class="empty">
      {isEmpty(filter) ? "No tasks yet." : "No tasks match."}{" "}
      {!isEmpty(filter) && <Link to="/">Clear filters</Link>}
    </p>
  );
}
