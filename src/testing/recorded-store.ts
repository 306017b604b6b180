import type { JournalRecording, RecordedEntry } from "../store/export-journal.ts";
import type { JournalPage, ListedEntry, TaskStore } from "../store/store.ts";
import type { TaskCommand, TaskCommandName } from "../task/command.ts";
import type { CommandResult } from "../task/command-result.ts";
import { createRecord } from "../task/create-record.ts";
import { HoldfastError } from "../task/fault.ts";
import type { InputRequest } from "../task/input.ts";
import { isEndedByOthers, type JournalEnd, type JournalEntry } from "../task/journal.ts";
import type { TaskRecord, TaskRequest } from "../task/record.ts";
import type { TaskSnapshot } from "../task/snapshot.ts";

/** The token of the run that replays the recording. */
const token = "replay";

/** The texts of an entry, in their stored form. */
type Texts = Pick<JournalEntry, "request" | "value" | "error">;

/**
 * A store with one task: that of a recording, as if it had just been claimed. What a handler begins that is not in the recording never
 * begins: the write for it never ends.
 */
export class RecordedStore implements TaskStore {
  readonly task: TaskRecord;
  readonly entries: readonly ListedEntry[];
  readonly #request: TaskRequest;
  readonly #journal: ReadonlyMap<string, JournalEntry>;
  readonly #marks: boolean;

  /** `marks`: what runs before the handler must begin. */
  constructor(recording: JournalRecording, marks: boolean) {
    this.task = recordOf(recording);
    this.#request = requestOf(recording);
    this.#marks = marks;
    const journal = recording.entries.map((entry) => ({ ...entry, ...textsOf(entry) }));
    this.#journal = new Map(journal.map((entry) => [entry.key, entry]));
    this.entries = journal.map(({ request, value, error, ...head }, place) => ({
      ...head,
      place,
      bytes: [request, value, error].reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0),
    }));
  }

  write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;
  async write({ type }: TaskCommand): Promise<CommandResult> {
    // Status updates of a handler do not affect a replay, and a handler may wait for them.
    if (type === "update" || type === "append" || (type === "mark" && this.#marks))
      return { ok: true, task: this.task };
    return new Promise<never>(() => undefined);
  }

  async get(): Promise<TaskRecord> {
    return this.task;
  }

  async request(): Promise<TaskRequest> {
    return this.#request;
  }

  async snapshot(): Promise<TaskSnapshot> {
    const open = [...this.#journal.values()].filter(
      ({ kind, doneAt }) => kind === "input" && doneAt === null,
    );
    const inputs = open.flatMap(({ key, method, request }): InputRequest[] =>
      method === null ? [] : [{ key, method, params: request ?? "{}" }],
    );
    return { task: this.task, inputs, outcome: null };
  }

  async journal(): Promise<JournalPage> {
    return { entries: this.entries, next: null };
  }

  async journalEnds(_id: string, keys: readonly string[]): Promise<readonly JournalEnd[]> {
    return keys.flatMap((key) => this.#journal.get(key) ?? []);
  }

  async journalEntry(_id: string, key: string): Promise<JournalEntry | undefined> {
    return this.#journal.get(key);
  }

  readonly open = notRecorded;
  readonly close = notRecorded;
  readonly renew = notRecorded;
  readonly find = notRecorded;
  readonly withKeys = notRecorded;
  readonly list = notRecorded;
  readonly unfinished = notRecorded;
  readonly hasClaimable = notRecorded;
  readonly setHandlers = notRecorded;
  readonly orphanedHandlers = notRecorded;
  readonly queued = notRecorded;
  readonly due = notRecorded;
  readonly nextSweepAt = notRecorded;

  subscribe(): () => void {
    return () => undefined;
  }
}

/** No handler run asks for it. */
async function notRecorded(): Promise<never> {
  throw new HoldfastError("internal", "A recording has one task, and no owners.");
}

/** The record is not marked as journalled, so the first thing that begins has to mark it; that write never ends. */
function recordOf(recording: JournalRecording): TaskRecord {
  const { taskId: id, createdAt, version, attempt, toolVersion, entries } = recording;
  const { wireId, generation, method, tool, principal } = recording;
  const task = {
    id,
    wireId,
    generation,
    method,
    tool,
    principal,
    scope: "",
    idempotencyKey: null,
    requestHash: "",
    requiredScopes: [],
    expiry: { from: "terminal", ms: null },
    runUntil: null,
    pollIntervalMs: 1_000,
    statusMessage: null,
  } as const;
  const command = { type: "create", now: createdAt, task, request: requestOf(recording), token } as const;
  const open = entries.filter(({ kind, doneAt }) => isEndedByOthers(kind) && doneAt === null);
  const openInputs = open.filter(({ kind }) => kind === "input").length;
  const openWaits = open.length - openInputs;
  return {
    ...createRecord(command, token),
    version,
    attempt: attempt + 1,
    toolVersion,
    openInputs,
    openWaits,
  };
}

function requestOf(recording: JournalRecording): TaskRequest {
  const { capabilities, caller, prepareInTask, prepared } = recording;
  return {
    origin: {
      capabilities,
      ...(caller !== undefined && { caller }),
      ...(prepareInTask === true && { prepareInTask }),
    },
    arguments: JSON.stringify(recording.arguments),
    prepared: textOf(prepared),
  };
}

function textsOf({ request, value, error }: RecordedEntry): Texts {
  return { request: textOf(request), value: textOf(value), error: textOf(error) };
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
