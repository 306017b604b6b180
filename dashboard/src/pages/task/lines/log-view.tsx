import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ShownLine } from "../../../../../src/admin/admin.ts";
import { logLevels } from "../../../../../src/task/task-line.ts";
import { linesFrom, logLineOf, type LogLine } from "./shown-lines.ts";
import { Lines } from "./lines.tsx";

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
});

/** The last lines of a log, from a minimum level on. */
export function LogView({ log }: { readonly log: readonly ShownLine[] }): JSX.Element {
  const [least, setLeast] = useState<string>(logLevels[0]);
  const all = log.map(logLineOf);
  const shown = linesFrom(all, least);
  const [first] = all;
  return (
    <div class="log">
      <div class="filters">
        <label>
          <span>Minimum level</span>
          <select value={least} onChange={({ currentTarget }) => setLeast(currentTarget.value)}>
            {logLevels.map((level) => (
              <option key={level} value={level}>
                {level}
              </option>
            ))}
          </select>
        </label>
      </div>
      {first !== undefined && first.seq > 1 && (
        <p class="faint">Only the last {all.length} lines are shown.</p>
      )}
      <Lines label="Log" count={`${least} ${shown.at(-1)?.seq}`}>
        {shown.map((line) => (
          <Line key={line.seq} line={line} />
        ))}
        {shown.length === 0 && <p class="faint">No lines at this level or above.</p>}
      </Lines>
    </div>
  );
}

const bad: readonly string[] = logLevels.slice(logLevels.indexOf("error"));

function Line({ line: { at, level, text, step, data } }: { readonly line: LogLine }): JSX.Element {
  return (
    <p class="line">
      <time dateTime={at} title={at}>
        {Number.isNaN(Date.parse(at)) ? at : clock.format(new Date(at))}
      </time>{" "}
      <span class={`level ${level === "warning" ? "warn" : bad.includes(level) ? "error" : "faint"}`}>
        {level}
      </span>{" "}
      {step !== undefined && <span class="faint">{step}: </span>}
      {text}
      {data !== undefined && <code class="data"> {data}</code>}
    </p>
  );
}
