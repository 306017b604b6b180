import type { JSX } from "preact";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { usePageTitle } from "../../parts/page-title.ts";
import { Problem } from "../../parts/problem.tsx";
import { Link } from "../../routing/link.tsx";
import { ActionTable } from "./action-table.tsx";
import { beforeIn } from "./action-text.ts";
import { WebhookMessages } from "./webhook-messages.tsx";

const pageSize = 50;
/** Pausing and resending change no task, so no change is reported. */
const everyMs = 10_000;

export function ActionsPage({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const { admin } = useServices();
  usePageTitle("Actions");
  const before = beforeIn(query);
  // One more than is shown tells whether there are older ones.
  const { value, error, reload } = useLoaded(
    `actions ${before ?? ""}`,
    () => admin.actions({ limit: pageSize + 1, ...(before !== undefined && { before }) }),
    { restMs: 2_000, everyMs },
  );
  const shown = value?.slice(0, pageSize);
  const last = value !== undefined && value.length > pageSize ? shown?.at(-1) : undefined;
  return (
    <>
      <div class="heading">
        <h1>Actions</h1>
      </div>
      <WebhookMessages onChange={reload} />
      <section aria-labelledby="done">
        <h2 id="done">Operator actions</h2>
        {error !== undefined && <Problem error={error} reload={reload} />}
        {value === undefined && error === undefined && <p class="empty">Loading…</p>}
        {shown?.length === 0 && (
          <p class="empty">{before === undefined ? "No actions yet." : "No older actions."}</p>
        )}
        {shown !== undefined && shown.length > 0 && <ActionTable actions={shown} />}
        <nav class="pager" aria-label="Pages of the list">
          {before !== undefined && <Link to="/actions">Newest</Link>}
          {last !== undefined && <Link to={`/actions?before=${last.seq}`}>Older</Link>}
        </nav>
      </section>
    </>
  );
}
