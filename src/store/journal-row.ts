import type { InputMethod, JournalEnd, JournalEntry, JournalHead, JournalKind } from "../task/journal.ts";
import type { ListedEntry } from "./store.ts";
import {
  columnsOf,
  integer,
  integerOrNull,
  isNull,
  oneOf,
  text,
  textOrNull,
  type Column,
  type Row,
} from "./row.ts";
import type { ToStored } from "./stored-text.ts";

type ColumnsOf<Names extends readonly string[]> = Readonly<Record<Names[number], Column>>;

/** The columns of `journal` that hold an entry, besides the task's id and the order. */
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
  "tries",
  "begun_at",
] as const;

/** The columns that hold its head. */
export const journalHeadColumns = [
  "key",
  "kind",
  "method",
  "request_hash",
  "deadline_at",
  "tries",
  "begun_at",
  "done_at",
  "done_version",
] as const;

/** The columns that hold its end. */
export const journalEndColumns = ["key", "value", "error"] as const;

/** The values for `journalColumns`. */
export function journalRowOf(entry: JournalEntry, toStored: ToStored): (string | number | null)[] {
  const stored = (value: string | null): string | null => (value === null ? null : toStored(value));
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
    entry.tries,
    entry.begunAt,
  ];
}

const kinds: Readonly<Record<JournalKind, true>> = {
  step: true,
  input: true,
  sleep: true,
  call: true,
  event: true,
};
const methods: Readonly<Record<InputMethod, true>> = {
  "elicitation/create": true,
  "sampling/createMessage": true,
  "roots/list": true,
};

const at = columnsOf(journalColumns);
const listedAt = columnsOf([...journalHeadColumns, "place", "bytes"]);
const endAt = columnsOf(journalEndColumns);

/** The entry of a row that begins with `journalColumns`. */
export function journalEntryOf(row: Row): JournalEntry {
  return { ...headOf(row, at), request: textOrNull(row, at.request), ...endOf(row, at) };
}

/** The entry of a row of `journalHeadColumns`, its place and its size. */
export function listedEntryOf(row: Row): ListedEntry {
  return {
    ...headOf(row, listedAt),
    place: integer(row, listedAt.place),
    bytes: integer(row, listedAt.bytes),
  };
}

/** The end of the entry in a row of `journalEndColumns`. */
export function journalEndOf(row: Row): JournalEnd {
  return endOf(row, endAt);
}

function headOf(row: Row, columns: ColumnsOf<typeof journalHeadColumns>): JournalHead {
  return {
    key: text(row, columns.key),
    kind: oneOf(row, columns.kind, kinds),
    method: isNull(row, columns.method) ? null : inputMethodOf(row, columns.method),
    requestHash: textOrNull(row, columns.request_hash),
    deadlineAt: integerOrNull(row, columns.deadline_at),
    tries: integer(row, columns.tries),
    begunAt: integerOrNull(row, columns.begun_at),
    doneAt: integerOrNull(row, columns.done_at),
    doneVersion: integerOrNull(row, columns.done_version),
  };
}

function endOf(row: Row, columns: ColumnsOf<typeof journalEndColumns>): JournalEnd {
  return {
    key: text(row, columns.key),
    value: textOrNull(row, columns.value),
    error: textOrNull(row, columns.error),
  };
}

export function inputMethodOf(row: Row, column: Column): InputMethod {
  return oneOf(row, column, methods);
}
