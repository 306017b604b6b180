import { readFileSync } from "node:fs";

/** One line of the log of the demo's servers: a read begins, or its result is known to be in the journal. */
export interface ReadEvent {
  readonly pid: number;
  /** Epoch ms. */
  readonly at: number;
  readonly event: "begin" | "kept";
  readonly path: string;
}

/** Everything that was read, in order; empty if nothing was. */
export function loadReadLog(file: string): ReadEvent[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return [];
  }
  const lines = text.split("\n").slice(0, -1); // what comes after the last line break is not written to its end
  return lines.map((line) => JSON.parse(line) as ReadEvent);
}
