import type { ShownLine } from "../../../../../src/admin/admin.ts";
import { logLevels } from "../../../../../src/task/task-line.ts";

export interface LogLine {
  readonly seq: number;
  readonly at: string;
  readonly level: string;
  readonly text: string;
  readonly step: string | undefined;
  /** JSON on one line. */
  readonly data: string | undefined;
}

export function logLineOf({ seq, at, level, text, step, data }: ShownLine): LogLine {
  return {
    seq: typeof seq === "number" ? seq : 0,
    at: typeof at === "string" ? at : "",
    level: typeof level === "string" ? level : "info",
    text: typeof text === "string" ? text : "",
    step: typeof step === "string" ? step : undefined,
    data: data === undefined ? undefined : JSON.stringify(data),
  };
}

/** Lines at least as severe; lines of an unknown level are shown. */
export function linesFrom(lines: readonly LogLine[], least: string): readonly LogLine[] {
  const from = logLevels.findIndex((level) => level === least);
  return lines.filter(({ level }) => {
    const place = logLevels.findIndex((each) => each === level);
    return place === -1 || place >= from;
  });
}
