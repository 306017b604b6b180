/** The tables of what belongs to a task: its request, its journal, its outcome, its lines, its events and its messages. */

import { createHash } from "node:crypto";
import {
  childInputKey,
  type InputMethod,
  type InputRequest,
  type JournalEntry,
  type JournalKind,
} from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { CallerDetails, Origin, ParentTask, TaskRecord, TaskRequest } from "../../task/record.ts";
import { encryptedText, isSealed } from "../../task/stored-text.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { type Codec, integer, type Row, toStored, unlessUndecrypted } from "../row.ts";
import type { KeptEvent } from "../facts.ts";
import type { ListedEntry } from "../store.ts";
import {
  aName,
  anInteger,
  aSerial,
  aText,
  aTime,
  checkedName,
  json,
  once,
  orNull,
  sealed,
  type Kind,
} from "./kind.ts";
import { Table } from "./table.ts";

/** Binds it to the request's part in clear that decides what the task may do, and who gets its messages. */
function boundTo({ origin: { session, requestId, toolScopes } }: TaskRequest): string {
  return JSON.stringify([session, requestId, toolScopes]);
}

const anOrigin: Kind<Origin, TaskRequest> = {
  ...json<Origin>(),
  sealing: {
    seal: (origin, convert, request) =>
      originWith(
        origin,
        // It is still an object.
        (caller) => ({ claims: { sealed: convert(JSON.stringify(caller), boundTo(request), "caller") } }),
        (baggage) => convert(baggage, boundTo(request), "baggage") ?? baggage,
      ),
    open: (origin, convert, request) =>
      originWith(
        origin,
        (caller) => {
          const kept = caller.claims?.["sealed"];
          const stored = typeof kept === "string" && isSealed(kept) ? kept : JSON.stringify(caller);
          const opened = convert(stored, boundTo(request), "caller") ?? stored;
          return isSealed(opened) ? caller : (JSON.parse(opened) as CallerDetails);
        },
        (baggage) => convert(baggage, boundTo(request), "baggage") ?? baggage,
      ),
  },
};

/** Statements search by the rest. */
function originWith(
  origin: Origin,
  callerOf: (caller: CallerDetails) => CallerDetails,
  baggageOf: (baggage: string) => string,
): Origin {
  const { caller, trace } = origin;
  return {
    ...origin,
    ...(caller !== undefined && { caller: callerOf(caller) }),
    ...(trace?.baggage !== undefined && { trace: { ...trace, baggage: baggageOf(trace.baggage) } }),
  };
}

export const requestTable = new Table<TaskRequest>("request", {
  ofTask: true,
  members: {
    origin: anOrigin,
    arguments: sealed(aText, { key: boundTo }),
    prepared: sealed(orNull(aText), { key: boundTo }),
  },
  search: {
    session: {
      type: "text",
      isNullable: true,
      write: ({ origin: { session } }) => (session === undefined ? null : toStored(session)),
    },
    request_id: {
      type: "text",
      isNullable: true,
      write: ({ origin: { session, requestId } }) =>
        session === undefined || requestId === undefined ? null : requestIdText(requestId),
    },
  },
  key: ["task_id"],
  indexes: { request_session: { on: "session, request_id, task_id", where: "session IS NOT NULL" } },
});

/** The maximum length that fits into an index. */
const longestId = 500;

/** The id of a task's request, as in `request`: 1 and "1" differ, and a long id is hashed. */
export function requestIdText(id: string | number): string {
  const text = JSON.stringify(id);
  return text.length <= longestId ? text : createHash("sha256").update(text).digest("hex");
}

const kinds: Readonly<Record<JournalKind, true>> = {
  step: true,
  input: true,
  sleep: true,
  call: true,
  event: true,
  artifact: true,
  loop: true,
};

const methods: Readonly<Record<InputMethod, true>> = {
  "elicitation/create": true,
  "sampling/createMessage": true,
  "roots/list": true,
};

/** Encrypted too: otherwise, readers of the store could find out by trial which question or arguments have it. */
const aHash: Kind<string | null, JournalEntry> = {
  ...orNull(aText),
  sealing: {
    areWords: true,
    seal: (hash, convert, { key }) => convert(hash ?? "", key) ?? hash,
    open: (hash, convert, { key }) => convert(hash ?? "", key) ?? hash,
  },
};

const byKey = { key: ({ key }: JournalEntry): string => key };

/** `place` grows in the order of first writes to a task. The request of a call or an event is a name, which is searched for. */
export const journalTable = new Table<JournalEntry & { readonly place: number }>("journal", {
  ofTask: true,
  members: {
    key: aText,
    kind: aName(kinds),
    method: orNull(aName(methods)),
    request: sealed(orNull(aText), { ...byKey, when: ({ kind }: JournalEntry) => kind === "input" }),
    requestHash: aHash,
    value: sealed(orNull(aText), byKey),
    error: sealed(orNull(aText), byKey),
    deadlineAt: orNull(anInteger),
    doneAt: orNull(anInteger),
    doneVersion: orNull(anInteger),
    tries: anInteger,
    begunAt: orNull(anInteger),
    place: once(anInteger),
  },
  key: ["task_id", "key"],
  indexes: {
    journal_open_input: { on: "task_id, place", where: "kind = 'input' AND done_at IS NULL" },
    journal_open_event: { on: "task_id, request, place", where: "kind = 'event' AND done_at IS NULL" },
  },
});

const heads = [
  "key",
  "kind",
  "method",
  "requestHash",
  "deadlineAt",
  "tries",
  "begunAt",
  "doneAt",
  "doneVersion",
] as const;

export const journalEntry = journalTable.pick(...heads, "request", "value", "error");
export const journalHead = journalTable.pick(...heads, "place");
export const journalEnd = journalTable.pick("key", "value", "error");
/** The entry of the task `of` in a row of `journalHead` and its size. */
export function listedEntryIn(of: string, row: Row, codec: Codec): ListedEntry {
  return { ...journalHead.read(of, row, codec), bytes: integer(row, sizeAt) };
}

const sizeAt = { place: journalHead.names.length, name: "bytes" };

/** What is asked. `kind` decides how the request is stored. */
export const journalInput = journalTable.pick("key", "kind", "method", "request");

/** The open question of the task `of` in a row of `journalInput`. Undefined if the row has none: that of a task without questions. */
export function inputIn(of: string, row: Row, codec: Codec): InputRequest | undefined {
  if (row[0] === null || row[0] === undefined) return undefined;
  const { key, method, request: params } = journalInput.read(of, row, codec);
  if (method === null) throw new Error("The column method contains null.");
  return { key, method, params: params ?? "{}" };
}

/**
 * The question of a task below `root` as that shows it; none if it cannot be read: nobody could answer it, nor is known which scopes that
 * needs.
 */
export function inputBelow(
  root: string,
  { id: taskId, parent, requiredScopes }: Pick<TaskRecord, "id" | "parent" | "requiredScopes">,
  read: () => InputRequest | undefined,
): InputRequest[] {
  const asked = parent?.root === root ? unlessUndecrypted(read) : undefined;
  if (asked === undefined) return [];
  const key = childInputKey({ taskId, key: asked.key });
  return [{ ...asked, key, ...(requiredScopes.length > 0 && { requiredScopes }) }];
}

const mostEntriesAtOnce = 2 ** 20;

/** The place of an entry that is first written with this version of its task, among the entries that one command writes. */
export function placeOf({ version }: { readonly version: number }, index: number): number {
  return version * mostEntriesAtOnce + index;
}

/** The record says more about a result than this. */
export interface StoredOutcome {
  readonly kind: "result" | "error";
  readonly body: string;
}

export const outcomeTable = new Table<StoredOutcome>("outcome", {
  ofTask: true,
  members: { kind: checkedName({ result: true, error: true }), body: sealed(aText) },
  key: ["task_id"],
});

export function storedOutcome({ kind, body }: Outcome): StoredOutcome {
  return { kind: kind === "error" ? "error" : "result", body };
}

export const outcomeBody = outcomeTable.pick("body");

/** A stored outcome of more bytes is large: it is read alone, when there is room for it. */
export const largeOutcomeBytes = 64 * 1024;

/** The stored body of an outcome unless it is large, and its size. `octet_length` reads no text. */
export const smallOutcome = `CASE WHEN octet_length(outcome.body) <= ${largeOutcomeBytes} THEN outcome.body END, octet_length(outcome.body)`;

const lists: Readonly<Record<LineList, true>> = { log: true, output: true };

const lineKey = ({ list, seq }: TaskLine): string => `${list} ${seq}`;

const aBody: Kind<string, TaskLine> = {
  ...aText,
  sealing: {
    seal: (body, convert, line) => convert(body, lineKey(line)) ?? body,
    open: (body, convert, line) => shownLine(convert(body, lineKey(line)) ?? body, line.list),
  },
};

/** Operators without keys see that there is a line. */
function shownLine(body: string, list: LineList): string {
  if (!isSealed(body)) return body;
  return JSON.stringify(
    list === "log" ? { level: "info", text: encryptedText } : { type: "text", text: encryptedText },
  );
}

export const lineTable = new Table<TaskLine>("line", {
  ofTask: true,
  members: { list: aName(lists), seq: anInteger, at: aTime, step: aText, place: anInteger, body: aBody },
  key: ["task_id", "list", "seq"],
});

/** Part of an artifact, which the journal has under this key. */
interface ArtifactPiece {
  readonly key: string;
  /** Its number in the artifact, from 0. */
  readonly seq: number;
  /** Base64. */
  readonly body: string;
}

export const pieceTable = new Table<ArtifactPiece>("piece", {
  ofTask: true,
  members: {
    key: aText,
    seq: anInteger,
    body: sealed(aText, { key: ({ key, seq }: ArtifactPiece) => `${seq} ${key}` }),
  },
  key: ["task_id", "key", "seq"],
});

export const pieceBody = pieceTable.pick("key", "seq", "body");

/** A task that another one made, so that most tasks need no index for it. */
export interface Child {
  readonly id: string;
  readonly parent: string;
  readonly root: string;
  /** The key of the call in the journal of its parent. */
  readonly key: string;
}

export function childOf(id: string, { id: parent, root, key }: ParentTask): Child {
  return { id, parent, root, key };
}

export const childTable = new Table<Child>("child", {
  members: { id: aText, parent: aText, root: aText, key: aText },
  key: ["id"],
  indexes: { child_parent: { on: "parent, id" }, child_root: { on: "root, id" } },
});

/** An event that was sent to a task: its value until a wait takes it, and its `dedupeId` for as long as the task exists. */
interface TaskEvent {
  readonly seq: number;
  readonly name: string;
  readonly value: string | null;
  readonly dedupeId: string | null;
}

/** Those of one name are not told apart. */
export const eventTable = new Table<TaskEvent, Omit<TaskEvent, "seq">>("event", {
  ofTask: true,
  members: {
    seq: aSerial,
    name: aText,
    value: sealed(orNull(aText), { key: ({ name }: TaskEvent) => name }),
    dedupeId: orNull(aText),
  },
  key: ["seq"],
  indexes: {
    event_kept: { on: "task_id, name, seq", where: "value IS NOT NULL" },
    event_dedupe: { on: "task_id, dedupe_id", where: "dedupe_id IS NOT NULL", isUnique: true },
    event_task: { on: "task_id" },
  },
});

export const keptEvent = eventTable.pick("seq", "name", "value");

/** The event that is kept for a later wait, of a row of `keptEvent`. */
export function keptIn(of: string, row: Row, codec: Codec): KeptEvent {
  const { seq, value } = keptEvent.read(of, row, codec);
  if (value === null) throw new Error("The column value contains null.");
  return { seq, value };
}

/** A message that waits for a client; with an owner, only for that one. Those of one task are not told apart. */
interface TaskMessage {
  readonly seq: number;
  readonly body: string;
  readonly owner: string | null;
}

export const messageTable = new Table<TaskMessage, Omit<TaskMessage, "seq">>("message", {
  ofTask: true,
  members: { seq: aSerial, body: sealed(aText), owner: orNull(aText) },
  key: ["seq"],
  indexes: {
    message_queue: { on: "task_id, seq" },
    message_owner: { on: "owner", where: "owner IS NOT NULL" },
  },
});

export const queuedMessage = messageTable.pick("seq", "body");
