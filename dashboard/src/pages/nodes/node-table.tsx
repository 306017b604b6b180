import type { JSX } from "preact";
import type { NodeSummary } from "../../../../src/admin/activity.ts";
import { Ago, durationText } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { tasksPath } from "../tasks/task-filter.ts";
import { DrainButton } from "./drain-button.tsx";
import { delayText, memoryText, nameOf, nodeState, nodeStateNames, nodeStateText } from "./node-state.ts";

interface NodeTableProps {
  readonly nodes: readonly NodeSummary[];
  readonly now: number;
  readonly onChange: () => void;
}

export function NodeTable({ nodes, now, onChange }: NodeTableProps): JSX.Element {
  return (
    <div class="scroll" role="group" aria-label="Nodes" tabIndex={0}>
      <table class="wide">
        <caption class="hidden">Processes that have the store open, or had it open recently</caption>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">State and last report</th>
            <th scope="col">Version</th>
            <th scope="col">Roles</th>
            <th scope="col">Up for</th>
            <th scope="col">Slots used</th>
            <th scope="col" class="number">
              Running
            </th>
            <th scope="col" class="number" title="Handlers that wait and are kept in memory">
              Parked
            </th>
            <th scope="col" class="number" title="Handlers still running although their tasks have ended">
              Leaked
            </th>
            <th scope="col" class="number" title="Delay of the event loop: p50, p99 and maximum">
              Loop delay, ms
            </th>
            <th scope="col" class="number">
              Memory
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <Row key={node.id} node={node} now={now} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps extends Omit<NodeTableProps, "nodes"> {
  readonly node: NodeSummary;
}

function Row({ node, now, onChange }: RowProps): JSX.Element {
  const { id, version, roles, startedAt, running, parked, leaked, loopDelay, memoryBytes, reportedAt } = node;
  const state = nodeState(node, now);
  const text = nodeStateText(node, now);
  return (
    <tr class={`node ${state}`}>
      <th scope="row">
        {nameOf(node) || "Unnamed"}
        <code class="id">{id}</code>
      </th>
      <td class="state-cell">
        <span class={`badge ${state}`}>{nodeStateNames[state]}</span>
        {reportedAt !== null && (
          <span class="reported">
            reported <Ago at={reportedAt} now={now} />
          </span>
        )}
        {text !== null && <p class="faint">{text}</p>}
        <DrainButton node={node} onChange={onChange} />
      </td>
      <td>{version ?? "–"}</td>
      <td>{roles.length === 0 ? "–" : roles.join(", ")}</td>
      <td>{startedAt === null || state === "gone" ? "–" : durationText(now - startedAt)}</td>
      <td>{state === "gone" ? "–" : <Slots node={node} />}</td>
      <td class="number">
        {running === 0 ? (
          "0"
        ) : (
          <Link to={tasksPath({ node: id, states: ["running"] })}>
            {running.toLocaleString()}
            {running >= mostRunning && "+"}
          </Link>
        )}
      </td>
      <td class="number">{parked === null ? "–" : parked.toLocaleString()}</td>
      <td class="number">
        {leaked === null ? "–" : <span class={leaked > 0 ? "error" : ""}>{leaked.toLocaleString()}</span>}
      </td>
      <td class="number">
        {loopDelay === null
          ? "–"
          : `${delayText(loopDelay.p50)} / ${delayText(loopDelay.p99)} / ${delayText(loopDelay.max)}`}
      </td>
      <td class="number">{memoryBytes === null ? "–" : memoryText(memoryBytes)}</td>
    </tr>
  );
}

/** Counts end here. */
const mostRunning = 10_000;

function Slots({ node: { slots, host, pid } }: { readonly node: NodeSummary }): JSX.Element {
  if (slots === null) return <>–</>;
  const { used, limit } = slots;
  const text = `${used.toLocaleString()} of ${limit.toLocaleString()}`;
  return (
    <span class="slots">
      <meter
        min={0}
        max={Math.max(1, limit)}
        value={used}
        aria-label={`Slots used by ${host ?? "it"}:${pid ?? ""}`}
      />
      <span class="number">{text}</span>
    </span>
  );
}
