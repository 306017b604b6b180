import type { InputRequest } from "../../task/input.ts";
import type { JournalEntry } from "../../task/journal.ts";

/** The questions of a journal that wait for an answer, in the order in which they were put. */
export function openInputs(entries: Iterable<JournalEntry>): InputRequest[] {
  const inputs: InputRequest[] = [];
  for (const { key, kind, method, request, doneAt } of entries) {
    if (kind !== "input" || doneAt !== null || method === null) continue;
    inputs.push({ key, method, params: request ?? "{}" });
  }
  return inputs;
}
