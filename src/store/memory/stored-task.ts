import type { InputRequest } from "../../task/input.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import { MemoryEvents } from "./memory-events.ts";
import type { StoredMessage } from "./memory-messages.ts";

/** A task with all that belongs to it. */
export interface StoredTask {
  record: TaskRecord;
  readonly request: TaskRequest;
  /** In the order of first writes, which a Map keeps. */
  readonly journal: Map<string, JournalEntry>;
  outcome: Outcome | null;
  /** The queue, its first message first. */
  readonly messages: StoredMessage[];
  readonly events: MemoryEvents;
}

export function newlyStored(record: TaskRecord, request: TaskRequest): StoredTask {
  return { record, request, journal: new Map(), outcome: null, messages: [], events: new MemoryEvents() };
}

/** Of steps and calls; and steps that are to be tried again. */
export function forgetFailures(journal: Map<string, JournalEntry>): void {
  for (const [key, { kind, error }] of journal) {
    if (error !== null && (kind === "step" || kind === "call")) journal.delete(key);
  }
}

/** The questions of a journal that wait for an answer, in the order in which they were put. */
export function openInputs(entries: Iterable<JournalEntry>): InputRequest[] {
  const inputs: InputRequest[] = [];
  for (const { key, kind, method, request, doneAt } of entries) {
    if (kind !== "input" || doneAt !== null || method === null) continue;
    inputs.push({ key, method, params: request ?? "{}" });
  }
  return inputs;
}
