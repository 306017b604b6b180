import type { JSX } from "preact";
import type { BulkResult } from "../../../../src/admin/task-operations.ts";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";

/** A preview of the tasks that would be changed. */
export function PlannedTasks({
  ids,
  total,
}: {
  readonly ids: BulkResult["done"];
  readonly total: number;
}): JSX.Element | null {
  if (ids.length === 0) return null;
  return (
    <details>
      <summary>
        {total > ids.length ? `Show the first ${ids.length.toLocaleString()}` : "Show these tasks"}
      </summary>
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
