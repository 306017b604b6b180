import type { JSX } from "preact";
import type { TaskSummary } from "../../../../src/admin/admin.ts";
import { StateBadge } from "../../parts/state-badge.tsx";
import { Time } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";

/** Unfinished tasks that a task called. */
export function ChildTable({ tasks }: { readonly tasks: readonly TaskSummary[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Tool</th>
            <th scope="col">Task</th>
            <th scope="col">Created</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map(({ id, tool, state, waitsFor, createdAt, error, statusMessage }) => (
            <tr key={id}>
              <td>
                <StateBadge state={state} waitsFor={waitsFor} />
              </td>
              <td>{tool}</td>
              <td>
                <Link to={taskPath(id)}>{id}</Link>
              </td>
              <td>
                <Time at={createdAt} />
              </td>
              <td>{error ?? statusMessage ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
