import type { JSX } from "preact";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { useNow } from "../../live/use-now.ts";
import { usePageTitle } from "../../parts/page-title.ts";
import { Problem } from "../../parts/problem.tsx";
import { inOrder, nodeState } from "./node-state.ts";
import { NodeTable } from "./node-table.tsx";

/** More often than processes report, so that new and lost ones show soon. */
const everyMs = 5_000;

export function NodesPage(): JSX.Element {
  const { admin } = useServices();
  const now = useNow();
  usePageTitle("Nodes");
  const { value, error, reload } = useLoaded("nodes", () => admin.nodes(), { restMs: 2_000, everyMs });
  const living = value?.filter(({ alive }) => alive) ?? [];
  const silent = living.filter((node) => nodeState(node, now) === "silent").length;
  return (
    <>
      <div class="heading">
        <h1>Nodes</h1>
        {value !== undefined && (
          <p class="faint" role="status">
            {living.length === 1 ? "1 process" : `${living.length} processes`} alive
            {silent > 0 && `, ${silent} of them silent`}
          </p>
        )}
      </div>
      {error !== undefined && <Problem error={error} reload={reload} />}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value?.length === 0 && <p class="empty">No processes have used this store recently.</p>}
      {value !== undefined && value.length > 0 && (
        <NodeTable nodes={inOrder(value, now)} now={now} onChange={reload} />
      )}
    </>
  );
}
