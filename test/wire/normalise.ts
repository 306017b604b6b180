import type { Entry } from "./recorder.ts";

const time = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g;
const state = /"requestState":"(?<text>v1\.[\w-]+)"/g;
/** That of a finished task without a hard end: its age and the time for which it is kept. */
const lastTtl = /(?<before>"status":"(?:completed|failed|cancelled)"[^{}]*"ttlMs":)\d{5,}/g;
const createdId = /"resultType":"task","taskId":"(?<text>[\w-]+)"/g;

/**
 * A transcript as text, one message a line, that reads the same on each run: what is made by chance or by the clock is
 * replaced by a name, and the same thing has the same name wherever it stands.
 */
export function normalise(entries: readonly Entry[]): string {
  const lines = entries.map((entry) => JSON.stringify(entry)).join("\n");
  const named = [...names(lines, createdId, "task"), ...names(lines, state, "state")].reduce(
    (text, [value, name]) => text.replaceAll(value, name),
    lines,
  );
  // A time that is written in any other way stays, and shows.
  return `${named.replaceAll(time, '"<time>"').replaceAll(lastTtl, '$<before>"<age and kept>"')}\n`;
}

function names(text: string, pattern: RegExp, kind: string): [value: string, name: string][] {
  const values = new Set([...text.matchAll(pattern)].map(({ groups }) => groups?.["text"] ?? ""));
  return [...values].map((value, index) => [value, `<${kind}-${index + 1}>`]);
}
