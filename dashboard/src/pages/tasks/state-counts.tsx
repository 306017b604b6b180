import type { JSX } from "preact";
import type { Counts, AdminTaskState } from "../../../../src/admin/admin.ts";
import { countText, type CountName } from "../../parts/counted.ts";
import { stateNames } from "../../parts/state-badge.tsx";
import { taskStates, type TaskFilter } from "./task-filter.ts";

const memberOf: Readonly<Record<AdminTaskState, CountName>> = {
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
  const shown = counts?.tools.filter(({ tool }) => filter.tool === "" || tool === filter.tool) ?? [];
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
          {stateNames[state]}{" "}
          <span class="number">{counts && countText(counts, shown, memberOf[state])}</span>
        </button>
      ))}
    </div>
  );
}
