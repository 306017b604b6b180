import type { InputRequest } from "../../task/input.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import type { TableWrite } from "../table-write.ts";
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
  /** Of its log and its output, by their numbers. */
  readonly lines: Readonly<Record<LineList, Map<number, TaskLine>>>;
}

export function newlyStored(record: TaskRecord, request: TaskRequest): StoredTask {
  return {
    record,
    request,
    journal: new Map(),
    outcome: null,
    messages: [],
    events: new MemoryEvents(),
    lines: { log: new Map(), output: new Map() },
  };
}

/** Of steps and calls; and steps that are to be tried again. */
export function forgetFailures(journal: Map<string, JournalEntry>): void {
  for (const [key, { kind, error }] of journal) {
    if (error !== null && (kind === "step" || kind === "call")) journal.delete(key);
  }
}

export function appendLines(
  stored: StoredTask | undefined,
  { lines, forget }: Extract<TableWrite, { do: "append_lines" }>,
): void {
  for (const line of lines) stored?.lines[line.list].set(line.seq, line);
  for (const seq of forget) stored?.lines.log.delete(seq);
}

/** The lines of one of its lists after a number, in their order. */
export function linesAfter(stored: StoredTask | undefined, list: LineList, after: number): TaskLine[] {
  const lines = [...(stored?.lines[list].values() ?? [])];
  return lines.filter(({ seq }) => seq > after).toSorted((a, b) => a.seq - b.seq);
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
