import type { JSX } from "preact";
import { Bars } from "../../parts/bars.tsx";
import { durationText } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { tasksPath } from "../tasks/task-filter.ts";
import { PausedCell } from "./paused-cell.tsx";
import { rateText, shareText, type ToolRow } from "./tool-rows.ts";

interface ToolTableProps {
  readonly rows: readonly ToolRow[];
  readonly query: URLSearchParams;
  /** Called after an action on a tool. */
  readonly onChange: () => void;
}

export function ToolTable({ rows, query, onChange }: ToolTableProps): JSX.Element {
  return (
    <div class="scroll" role="group" aria-label="Tools" tabIndex={0}>
      <table class="wide">
        <caption class="hidden">Tools: activity in the period, and unfinished tasks now</caption>
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">Ended per minute</th>
            <th scope="col" class="number">
              Created
            </th>
            <th scope="col" class="number">
              Completed
            </th>
            <th scope="col" class="number">
              Failed
            </th>
            <th scope="col" class="number">
              Cancelled
            </th>
            <th scope="col" class="number">
              Retried
            </th>
            <th
              scope="col"
              class="number"
              title="Half of the tasks took at most this long, from creation to end"
            >
              p50
            </th>
            <th
              scope="col"
              class="number"
              title="95% of the tasks took at most this long, from creation to end"
            >
              p95
            </th>
            <th scope="col">Now</th>
            <th scope="col">Paused</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.tool}>
              <th scope="row">
                <Link to={toolPath(query, row.tool)}>{row.tool}</Link>
              </th>
              <td class="rate completed">
                <span class="number">{rateText(row.endedPerMinute)}</span>
                <Bars label={`tasks of ${row.tool} ended`} numbers={row.ended} />
              </td>
              <td class="number">{row.created.toLocaleString()}</td>
              <td class="number">{row.completed.toLocaleString()}</td>
              <td class="number">
                <Failed row={row} />
              </td>
              <td class="number">{row.cancelled.toLocaleString()}</td>
              <td class="number">{row.retried.toLocaleString()}</td>
              <td class="number">{row.p50Ms === null ? "–" : durationText(row.p50Ms)}</td>
              <td class="number">{row.p95Ms === null ? "–" : durationText(row.p95Ms)}</td>
              <td>
                <Now row={row} />
              </td>
              <td>
                <PausedCell tool={row.tool} paused={row.paused} onChange={onChange} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function toolPath(query: URLSearchParams, tool: string): string {
  const changed = new URLSearchParams(query);
  changed.set("tool", tool);
  return `/tools?${changed.toString()}`;
}

function Failed({ row: { failed, failedShare } }: { readonly row: ToolRow }): JSX.Element {
  if (failed === 0 || failedShare === null) return <>0</>;
  return (
    <span class="error">
      {failed.toLocaleString()} ({shareText(failedShare)})
    </span>
  );
}

function Now({ row: { tool, now } }: { readonly row: ToolRow }): JSX.Element {
  if (now.length === 0) return <span class="faint">none</span>;
  return (
    <ul class="inline">
      {now.map(({ state, text }) => (
        <li key={state}>
          <Link to={tasksPath({ tool, states: [state] })}>{text}</Link>
        </li>
      ))}
    </ul>
  );
}
