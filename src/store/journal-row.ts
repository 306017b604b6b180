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
import type { Codec, Place } from "./codec.ts";
import { toStored } from "./stored-text.ts";

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

type Sealed = "request" | "value" | "error";

const place = (of: string, column: Sealed, key: string): Place => ({ table: "journal", column, of, key });

/** The values for `journalColumns` of an entry of the task `of`. */
export function journalRowOf(of: string, entry: JournalEntry, codec: Codec): (string | number | null)[] {
  const stored = (value: string | null): string | null => (value === null ? null : toStored(value));
  const sealed = (column: Sealed): string | null => {
    const value = entry[column];
    return value === null ? null : toStored(codec.seal(value, place(of, column, entry.key)));
  };
  return [
    toStored(entry.key),
    entry.kind,
    entry.method,
    isName(entry.kind) ? stored(entry.request) : sealed("request"),
    stored(entry.requestHash),
    sealed("value"),
    sealed("error"),
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

/** The entry of the task `of` in a row that begins with `journalColumns`. */
export function journalEntryOf(of: string, row: Row, codec: Codec): JournalEntry {
  const head = headOf(row, at);
  const request = textOrNull(row, at.request);
  return {
    ...head,
    request: request === null || isName(head.kind) ? request : openedRequest(of, head.key, request, codec),
    ...endOf(of, row, at, codec),
  };
}

/** The params of a question. */
export function openedRequest(of: string, key: string, request: string, codec: Codec): string {
  return codec.open(request, place(of, "request", key));
}

/** Whether the request of such an entry is a name, which is searched for. */
function isName(kind: JournalKind): boolean {
  return kind !== "input";
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
export function journalEndOf(of: string, row: Row, codec: Codec): JournalEnd {
  return endOf(of, row, endAt, codec);
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

function endOf(of: string, row: Row, columns: ColumnsOf<typeof journalEndColumns>, codec: Codec): JournalEnd {
  const key = text(row, columns.key);
  const opened = (column: "value" | "error"): string | null => {
    const stored = textOrNull(row, columns[column]);
    return stored === null ? null : codec.open(stored, place(of, column, key));
  };
  return { key, value: opened("value"), error: opened("error") };
}

export function inputMethodOf(row: Row, column: Column): InputMethod {
  return oneOf(row, column, methods);
}
