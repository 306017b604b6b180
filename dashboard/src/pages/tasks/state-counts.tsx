import type { JSX } from "preact";
import type { Counts, AdminTaskState, ToolCounts } from "../../../../src/admin/admin.ts";
import { stateNames } from "../../parts/state-badge.tsx";
import { taskStates, type TaskFilter } from "./task-filter.ts";

const memberOf: Readonly<Record<AdminTaskState, Exclude<keyof ToolCounts, "tool" | "paused" | "waitsFor">>> =
  {
    queued: "queued",
    waiting: "waiting",
    running: "running",
    input_required: "inputRequired",
    blocked: "blocked",
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
  };

interface StateCountsProps {
  readonly counts: Counts | undefined;
  readonly filter: TaskFilter;
  readonly onChange: (changed: Partial<TaskFilter>) => void;
}

/** How many tasks are in each state, for one tool if one is chosen; each is a filter. */
export function StateCounts({ counts, filter, onChange }: StateCountsProps): JSX.Element {
  const toggle = (state: AdminTaskState): void => {
    const { states } = filter;
    onChange({
      states: states.includes(state) ? states.filter((each) => each !== state) : [...states, state],
    });
  };
  return (
    <div class="states" role="group" aria-label="States">
      <button
        type="button"
        class="state all"
        aria-pressed={filter.states.length === 0}
        onClick={() => onChange({ states: [] })}
      >
        All
      </button>
      {taskStates.map((state) => (
        <button
          key={state}
          type="button"
          class={`state ${state}`}
          aria-pressed={filter.states.includes(state)}
          onClick={() => toggle(state)}
        >
          {stateNames[state]} <span class="number">{counts && countText(counts, state, filter.tool)}</span>
        </button>
      ))}
    </div>
  );
}

/** Counts end at `most`. */
function countText({ tools, most }: Counts, state: AdminTaskState, tool: string): string {
  const numbers = tools
    .filter((each) => tool === "" || each.tool === tool)
    .map((each) => each[memberOf[state]]);
  const sum = numbers.reduce((total, number) => total + number, 0);
  return `${sum.toLocaleString()}${numbers.some((number) => number >= most) ? "+" : ""}`;
}
