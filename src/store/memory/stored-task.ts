import type { InputRequest, JournalEntry } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import type { TableWrite } from "../table-write.ts";
import type { StoredMessage } from "./memory-messages.ts";
import type { EventFacts, EventQuery } from "../facts.ts";

/** A task with everything that belongs to it. */
export interface StoredTask {
  record: TaskRecord;
  readonly request: TaskRequest;
  /** In the order of first writes, which a Map keeps. */
  readonly journal: Map<string, JournalEntry>;
  outcome: Outcome | null;
  /** The queue, first message first. */
  readonly messages: StoredMessage[];
  readonly events: MemoryEvents;
  /** The lines of its log and its output, by number. */
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

/** Removes failed steps and calls, and steps that wait for a retry. */
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

/** The lines of one list after a number, in order. */
export function linesAfter(stored: StoredTask | undefined, list: LineList, after: number): TaskLine[] {
  const lines = [...(stored?.lines[list].values() ?? [])];
  return lines.filter(({ seq }) => seq > after).toSorted((a, b) => a.seq - b.seq);
}

/** The unanswered questions of a journal, in the order in which they were asked. */
export function openInputs(entries: Iterable<JournalEntry>): InputRequest[] {
  const inputs: InputRequest[] = [];
  for (const { key, kind, method, request, doneAt } of entries) {
    if (kind !== "input" || doneAt !== null || method === null) continue;
    inputs.push({ key, method, params: request ?? "{}" });
  }
  return inputs;
}

interface StoredEvent {
  readonly seq: number;
  readonly name: string;
  /** Null: a wait has taken it, and only its `dedupeId` is kept. */
  readonly value: string | null;
  readonly dedupeId: string | null;
}

/** The events of one task, in order of arrival. */
export class MemoryEvents {
  #events: StoredEvent[] = [];
  #next = 1;

  facts(journal: Iterable<JournalEntry>, { name, coming }: EventQuery): EventFacts {
    if (coming === undefined) {
      const first = this.#events.find((event) => event.name === name && event.value !== null);
      return { kept: first && first.value !== null ? { seq: first.seq, value: first.value } : undefined };
    }
    const { dedupeId, now } = coming;
    return {
      wait: firstWait(journal, name, now),
      isKnown: dedupeId !== null && this.#events.some((event) => event.dedupeId === dedupeId),
      count: this.#events.filter(({ value }) => value !== null).length,
    };
  }

  keep(name: string, value: string | null, dedupeId: string | null): void {
    this.#events.push({ seq: this.#next++, name, value, dedupeId });
  }

  take(seq: number): void {
    this.#events = this.#events.flatMap((event) => {
      if (event.seq !== seq) return event;
      return event.dedupeId === null ? [] : { ...event, value: null };
    });
  }
}

/** The first wait whose time is not over. */
function firstWait(journal: Iterable<JournalEntry>, name: string, now: number): JournalEntry | undefined {
  for (const entry of journal) {
    const { kind, request, doneAt, deadlineAt } = entry;
    if (kind !== "event" || request !== name || doneAt !== null) continue;
    if (deadlineAt === null || deadlineAt > now) return entry;
  }
  return undefined;
}
