import type { SQLInputValue } from "node:sqlite";
import type { InputMethod } from "../../task/input.ts";
import type { JournalEntry, JournalKind } from "../../task/journal.ts";
import { integerOrNull, oneOf, text, textOrNull, type Row } from "./row.ts";
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
  ];
}

const kinds: Readonly<Record<JournalKind, true>> = { step: true, input: true, sleep: true };
const methods: Readonly<Record<InputMethod, true>> = {
  "elicitation/create": true,
  "sampling/createMessage": true,
  "roots/list": true,
};

export function journalEntryOf(row: Row): JournalEntry {
  return {
    key: text(row, "key"),
    kind: oneOf(row, "kind", kinds),
    method: row["method"] === null ? null : inputMethodOf(row, "method"),
    request: textOrNull(row, "request"),
    requestHash: textOrNull(row, "request_hash"),
    value: textOrNull(row, "value"),
    error: textOrNull(row, "error"),
    deadlineAt: integerOrNull(row, "deadline_at"),
    doneAt: integerOrNull(row, "done_at"),
  };
}

export function inputMethodOf(row: Row, column: string): InputMethod {
  return oneOf(row, column, methods);
}
