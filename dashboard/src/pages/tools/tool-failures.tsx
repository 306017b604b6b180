import type { JSX } from "preact";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { useNow } from "../../live/use-now.ts";
import { Problem } from "../../parts/problem.tsx";
import { Ago } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { taskPath } from "../../routing/task-path.ts";
import { tasksPath } from "../tasks/task-filter.ts";

/** The number of tasks to read each time. */
const newest = 1_000;
const restMs = 5_000;

/** Why tasks of a tool failed. */
export function ToolFailures({ tool }: { readonly tool: string }): JSX.Element {
  const { admin } = useServices();
  const now = useNow();
  const { value, error, reload } = useLoaded(tool, () => admin.failures(tool, newest), { restMs });
  return (
    <section aria-labelledby="failures">
      <div class="heading below">
        <h2 id="failures">Failures by cause</h2>
        <Link to={tasksPath({ tool, states: ["failed"] })}>All failed tasks of {tool}</Link>
      </div>
      <p class="faint">
        The most recent {newest.toLocaleString()} failed tasks. Those whose messages differ only in ids,
        numbers and quoted values are counted together.
      </p>
      {error !== undefined && <Problem error={error} reload={reload} />}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value?.length === 0 && <p class="empty">This tool has no failed tasks.</p>}
      {value !== undefined && value.length > 0 && (
        <div class="scroll" role="group" aria-label="Failures" tabIndex={0}>
          <table>
            <caption class="hidden">Failures by cause, most frequent first</caption>
            <thead>
              <tr>
                <th scope="col">Message</th>
                <th scope="col" class="number">
                  Tasks
                </th>
                <th scope="col">First</th>
                <th scope="col">Last</th>
                <th scope="col">Newest task</th>
              </tr>
            </thead>
            <tbody>
              {value.map(({ cause, message, count, taskId, firstAt, lastAt }) => (
                <tr key={cause}>
                  <td class="message error">{message === "" ? "No message" : message}</td>
                  <td class="number">{count.toLocaleString()}</td>
                  <td>
                    <Ago at={firstAt} now={now} />
                  </td>
                  <td>
                    <Ago at={lastAt} now={now} />
                  </td>
                  <td>
                    <Link to={taskPath(taskId)} class="task">
                      {taskId}
                    </Link>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
