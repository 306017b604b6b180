import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useServices } from "../../api/services.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { LoadedTable } from "../../parts/loaded-table.tsx";
import { durationText } from "../../parts/time.tsx";
import { Link } from "../../routing/link.tsx";
import { tasksPath } from "../tasks/task-filter.ts";

const restMs = 30_000;

const orders = [
  ["failures", "Most failures"],
  ["time", "Most time"],
] as const;

/** Whose tasks failed most, or kept handlers busy longest. */
export function TopCallers({ minutes }: { readonly minutes: number }): JSX.Element {
  const { admin } = useServices();
  const [by, setBy] = useState<(typeof orders)[number][0]>("failures");
  const load = useLoaded(`${minutes} ${by}`, () => admin.callers({ minutes, by }), { restMs });
  const choice = (
    <div class="periods" role="group" aria-label="Order of callers">
      {orders.map(([order, text]) => (
        <button
          key={order}
          type="button"
          class="state"
          aria-pressed={order === by}
          onClick={() => setBy(order)}
        >
          {text}
        </button>
      ))}
    </div>
  );
  const tasks = load.value === undefined ? "" : `${load.value.tasks.toLocaleString()} `;
  return (
    <LoadedTable
      title="Top callers"
      aside={choice}
      note={`Of the ${tasks}newest tasks created in this period (at most 20,000). The time is how long handlers worked on them.`}
      loaded={load}
      rows={load.value?.callers}
      keyOf={({ principal }) => JSON.stringify(principal)}
      empty="No task was created in this period."
      columns={[
        { title: "Caller", class: "message", cell: ({ principal }) => <Caller name={principal} /> },
        { title: "Failed", isNumber: true, cell: ({ failed }) => failed.toLocaleString() },
        { title: "Tasks", isNumber: true, cell: (row) => row.tasks.toLocaleString() },
        { title: "Time", isNumber: true, cell: ({ workedMs }) => durationText(workedMs) },
      ]}
    />
  );
}

function Caller({ name }: { readonly name: string | null }): JSX.Element {
  if (name === null) return <span class="faint">anonymous</span>;
  return <Link to={tasksPath({ principal: name })}>{name}</Link>;
}
