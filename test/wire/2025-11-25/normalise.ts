import type { Entry } from "./transcript.ts";

const time = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g;
const createdId = /"task":\{"taskId":"(?<text>[\w-]{22,})"/g;
/** That of a finished task without a hard end: its age and the time for which it is kept. */
const lastTtl = /(?<before>"status":"(?:completed|failed|cancelled)"[^{}]*"ttl":)\d{5,}/g;
const questionId = /"holdfast-[0-9a-f]{8}-(?<number>\d+)"/g;
const session = /"Mcp-Session-Id":"[\w-]+"/g;

/** A transcript as text, one message a line: what is made by chance or by the clock is replaced by a name. */
export function normalise(entries: readonly Entry[]): string {
  const lines = entries.map((entry) => JSON.stringify(entry)).join("\n");
  const ids = new Set([...lines.matchAll(createdId)].map(({ groups }) => groups?.["text"] ?? ""));
  const named = [...ids].reduce((text, id, index) => text.replaceAll(id, `<task-${index + 1}>`), lines);
  const timeless = named.replaceAll(time, '"<time>"').replaceAll(lastTtl, '$<before>"<age and kept>"');
  const numbered = timeless.replaceAll(questionId, '"holdfast-$<number>"');
  return `${numbered.replaceAll(session, '"Mcp-Session-Id":"<session>"')}\n`;
}
