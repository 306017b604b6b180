import type { SQLInputValue } from "node:sqlite";
import type { InputMethod } from "../../task/input.ts";
import type { JournalEntry, JournalKind } from "../../task/journal.ts";
import { columnsOf, integerOrNull, isNull, oneOf, text, textOrNull, type Column, type Row } from "./row.ts";
import { toStored } from "./stored-text.ts";

const stored = (value: string | null): string | null => (value === null ? null : toStored(value));

/** The columns of `journal` that hold an entry, beside the task's id and the order. */
export const journalColumns = [
  "key",
  "kind",
  "method",
  "request",
  "request_hash",
  "value",
  "error",
  "deadline_at",
  "done_at",
  "done_version",
] as const;

/** The values for `journalColumns`. */
export function journalRowOf(entry: JournalEntry): SQLInputValue[] {
  return [
    toStored(entry.key),
    entry.kind,
    entry.method,
    stored(entry.request),
    stored(entry.requestHash),
    stored(entry.value),
    stored(entry.error),
    entry.deadlineAt,
    entry.doneAt,
    entry.doneVersion,
  ];
}

const kinds: Readonly<Record<JournalKind, true>> = { step: true, input: true, sleep: true };
const methods: Readonly<Record<InputMethod, true>> = {
  "elicitation/create": true,
  "sampling/createMessage": true,
  "roots/list": true,
};

const at = columnsOf(journalColumns);

/** The entry of a row that begins with `journalColumns`. */
export function journalEntryOf(row: Row): JournalEntry {
  return {
    key: text(row, at.key),
    kind: oneOf(row, at.kind, kinds),
    method: isNull(row, at.method) ? null : inputMethodOf(row, at.method),
    request: textOrNull(row, at.request),
    requestHash: textOrNull(row, at.request_hash),
    value: textOrNull(row, at.value),
    error: textOrNull(row, at.error),
    deadlineAt: integerOrNull(row, at.deadline_at),
    doneAt: integerOrNull(row, at.done_at),
    doneVersion: integerOrNull(row, at.done_version),
  };
}

export function inputMethodOf(row: Row, column: Column): InputMethod {
  return oneOf(row, column, methods);
}
