import { HoldfastError } from "../task/fault.ts";
import type { JournalEntry, JournalHead, JournalKind } from "../task/journal.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import type { CallerDetails, TaskRecord, TaskRequest, TaskSnapshot } from "../task/record.ts";
import { isSealed } from "../task/stored-text.ts";
import type { TaskStore } from "./store.ts";

/** The parts of a store needed to read tasks. */
export type TaskReader = Pick<TaskStore, "get" | "snapshot" | "request" | "journal" | "journalEntry">;

/** What can be read from a store without being one of its owners. */
export type StoredTasks = TaskReader & Pick<TaskStore, "unfinished">;

/** A journal entry. Missing values are left out, or null. Times are epoch milliseconds. */
export interface RecordedEntry extends JournalHead {
  /** The question as the client got it, the called tool, or the name of the event. */
  readonly request?: unknown;
  /** The result, or the answer. Left out if there is none. */
  readonly value?: unknown;
  /** The error, if it failed. */
  readonly error?: unknown;
}

/**
 * Everything stored for one task, as plain JSON data, for `checkReplay`. It has no token and no credentials, but it has the caller, and all
 * arguments and results of the call and its steps: handle it like the data of the task itself.
 */
export interface JournalRecording
  extends
    Pick<TaskRecord, "wireId" | "generation" | "method" | "tool" | "toolVersion" | "principal">,
    Pick<TaskRecord, "state" | "attempt" | "version" | "createdAt"> {
  /** Identifies a recording and its format version. */
  readonly format: "holdfast-journal-1";
  readonly taskId: string;
  /** What authentication returned about the caller besides the principal. */
  readonly caller?: CallerDetails;
  /** The client's capabilities. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** True if the tool's `prepare` runs as the first part of the task. */
  readonly prepareInTask?: true;
  readonly arguments: unknown;
  /** What `prepare` returned before the task existed. Left out if there is nothing. */
  readonly prepared?: unknown;
  /** In the order in which they began. */
  readonly entries: readonly RecordedEntry[];
  /** How the task ended. Left out if it has not ended, or was cancelled. */
  readonly outcome?: { readonly kind: OutcomeKind; readonly body: unknown };
}

const entriesPerPage = 500;
/** How often a task that changes while it is read is read again. */
const mostReads = 10;

/**
 * Reads the recording of a task from an open store. Rejects with `unknown_task` if there is no such task, and with `task_unreadable` if its
 * stored data is damaged.
 */
export async function exportJournal(store: TaskReader, id: string): Promise<JournalRecording> {
  for (let read = 1; ; read++) {
    const snapshot = await store.snapshot(id);
    const request = await store.request(id);
    if (snapshot === undefined || request === undefined) throw unknown(id);
    const entries = await readJournal(store, id);
    const after = await store.get(id);
    if (after?.version === snapshot.task.version || read === mostReads)
      return recordingOf(snapshot, request, entries);
  }
}

async function readJournal(store: TaskReader, id: string): Promise<readonly JournalEntry[]> {
  const placed: { readonly place: number; readonly entry: JournalEntry }[] = [];
  for (let from: string | null = ""; from !== null;) {
    const page = await store.journal(id, from, entriesPerPage);
    for (const { key, place } of page.entries) {
      const entry = await store.journalEntry(id, key);
      if (entry !== undefined) placed.push({ place, entry });
    }
    from = page.next;
  }
  return placed.sort((a, b) => a.place - b.place).map(({ entry }) => entry);
}

function recordingOf(
  { task, outcome }: TaskSnapshot,
  { origin, arguments: args, prepared }: TaskRequest,
  entries: readonly JournalEntry[],
): JournalRecording {
  const { id, wireId, generation, method, tool, toolVersion, principal } = task;
  const { state, attempt, version, createdAt } = task;
  const json = (text: string): unknown => parsed(id, text);
  return {
    format: "holdfast-journal-1",
    taskId: id,
    wireId,
    generation,
    method,
    tool,
    toolVersion,
    principal,
    ...(origin.caller !== undefined && { caller: origin.caller }),
    capabilities: origin.capabilities,
    ...(origin.prepareInTask === true && { prepareInTask: true as const }),
    state,
    attempt,
    version,
    createdAt,
    arguments: json(args),
    ...(prepared !== null && { prepared: json(prepared) }),
    entries: entries.map((entry) => recordedEntry(entry, json)),
    ...(outcome !== null && { outcome: { kind: outcome.kind, body: json(outcome.body) } }),
  };
}

/** `json` parses the entry's raw JSON, and `decode` the value of a step or an event. */
export function recordedEntry(
  { request, value, error, ...head }: JournalEntry,
  json: (text: string) => unknown,
  decode = json,
): RecordedEntry {
  const valueOf = head.kind === "step" || head.kind === "event" ? decode : json;
  return {
    ...head,
    ...(request !== null && { request: isName(head.kind) ? request : json(request) }),
    ...(value !== null && { value: valueOf(value) }),
    ...(error !== null && { error: json(error) }),
  };
}

function isName(kind: JournalKind): boolean {
  return kind === "call" || kind === "event";
}

function parsed(id: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    const problem = isSealed(json)
      ? "it is encrypted. Set HOLDFAST_ENCRYPTION_KEYS to the keys of the store"
      : "part of it is not valid JSON";
    throw new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`);
  }
}

function unknown(id: string): HoldfastError {
  return new HoldfastError("unknown_task", `The store has no task ${JSON.stringify(id)}.`);
}
