import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Counts } from "../../../../src/admin/admin.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { useLoaded } from "../../live/use-loaded.ts";
import { reasonNames } from "../../parts/state-badge.tsx";
import { useKeys } from "../../parts/use-keys.ts";
import { ages, reasons, type TaskFilter } from "./task-filter.ts";

/** How long after the last keystroke the search starts. */
const restMs = 300;

interface FilterBarProps {
  /** For the choice of tools. */
  readonly counts: Counts | undefined;
  readonly filter: TaskFilter;
  readonly onChange: (changed: Partial<TaskFilter>) => void;
}

export function FilterBar({ counts, filter, onChange }: FilterBarProps): JSX.Element {
  const { admin, session } = useServices();
  const text = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => text.current?.focus() });
  const { value: nodes } = useLoaded("nodes", () => admin.nodes(), { restMs: 30_000 });
  const tools = [...new Set([...(counts?.tools.map(({ tool }) => tool) ?? []), filter.tool])].filter(
    (tool) => tool !== "",
  );
  const owners = [...new Set([...(nodes?.map(({ id }) => id) ?? []), filter.node])].filter((id) => id !== "");
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Choice
        label="Tool"
        value={filter.tool}
        all="All tools"
        options={tools.map((tool) => [tool, tool])}
        onChange={(tool) => onChange({ tool })}
      />
      <Choice
        label="Waiting for"
        value={filter.waitsFor}
        all="Anything or nothing"
        options={reasons.map((reason) => [reason, reasonNames[reason]])}
        onChange={(chosen) => onChange({ waitsFor: reasons.find((reason) => reason === chosen) ?? "" })}
      />
      <Typed label="Caller" value={filter.principal} onChange={(principal) => onChange({ principal })} />
      <Choice
        label="Created"
        value={filter.age}
        all="Any time"
        options={ages.map(([age, name]) => [age, `In the last ${name}`])}
        onChange={(age) => onChange({ age })}
      />
      <Choice
        label="Node"
        value={filter.node}
        all="All nodes"
        options={owners.map((id) => [id, id])}
        onChange={(node) => onChange({ node })}
      />
      {may(session, "read") && (
        <Typed
          label="Status text"
          value={filter.text}
          onChange={(value) => onChange({ text: value })}
          input={text}
        />
      )}
    </form>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly all: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChange: (value: string) => void;
}

function Choice({ label, value, all, options, onChange }: ChoiceProps): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{all}</option>
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TypedProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly input?: { current: HTMLInputElement | null };
}

function Typed({ label, value, onChange, input }: TypedProps): JSX.Element {
  const [typed, setTyped] = useState(value);
  const applied = useRef(value);
  // Other fields may change the filter before the search starts: the typed text is added to the current filter.
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    // A value that comes back from here may be older than what is typed by now.
    if (value === applied.current) return;
    applied.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === applied.current) return undefined;
    const timer = setTimeout(() => {
      applied.current = typed;
      latest.current(typed);
    }, restMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label>
      <span>{label}</span>
      <input
        {...(input && { ref: input })}
        type="search"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </label>
  );
}
