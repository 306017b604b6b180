import type { JSX } from "preact";
import type { BulkResult } from "../../../../src/admin/admin.ts";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";

/** A preview of the tasks that would be changed. */
export function PlannedTasks({ ids }: { readonly ids: BulkResult["done"] }): JSX.Element | null {
  if (ids.length === 0) return null;
  return (
    <details>
      <summary>Show these tasks</summary>
      <ul class="ids">
        {ids.map((id) => (
          <li key={id}>
            <Link to={taskPath(id)}>{id}</Link>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The tasks that could not be changed, and why. */
export function RefusedTasks({ refused }: Pick<BulkResult, "refused">): JSX.Element {
  return (
    <ul class="ids">
      {refused.map(({ id, message }) => (
        <li key={id}>
          <Link to={taskPath(id)}>{id}</Link>: {message}
        </li>
      ))}
    </ul>
  );
}
