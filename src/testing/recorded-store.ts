import type { JournalRecording, RecordedEntry } from "../store/export-journal.ts";
import type { JournalPage, ListedEntry, TaskStore } from "../store/store.ts";
import type { TaskCommand, TaskCommandName, CommandResult } from "../task/command.ts";
import { createRecord } from "../task/record-changes.ts";
import { HoldfastError } from "../task/fault.ts";
import {
  type InputRequest,
  isEndedByOthers,
  type JournalEnd,
  type JournalEntry,
  encodeJournalKey,
  type JournalKey,
  roundKey,
  roundName,
} from "../task/journal.ts";
import type { TaskRecord, TaskRequest, TaskSnapshot } from "../task/record.ts";
import { Run } from "../runtime/journal/run.ts";
import { NextRound, type TaskContext } from "../runtime/tool/task-context.ts";

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

/** A key under which the code does something other than the recording. */
export interface ChangedKey {
  readonly key: string;
  /** The error message that the handler gets. */
  readonly problem: string;
}

/** A run that goes on where its handler departs from the journal. */
export class ReplayedRun extends Run {
  /** The handler goes on, so that everything else that it does is compared too. */
  override refuse(): void {
    // The call rejects.
  }
}

/** A handler's calls on its task: which ones are open, and what was wrong with them. */
export class ReplayedCalls {
  readonly #open = new Set<Promise<unknown>>();
  readonly #changed = new Map<string, ChangedKey>();
  #moves = 0;
  #onMove: () => void = () => undefined;

  /** How many calls wait for something that never comes. */
  get open(): number {
    return this.#open.size;
  }

  get changed(): readonly ChangedKey[] {
    return [...this.#changed.values()];
  }

  /** Grows whenever a call begins or ends. */
  get moves(): number {
    return this.#moves;
  }

  /** Calls `listener` at the next move. */
  onMove(listener: () => void): void {
    this.#onMove = listener;
  }

  /** The same calls, observed. */
  watch<T extends object>(calls: T, storedKey = (key: JournalKey): JournalKey => key): T {
    return new Proxy(calls, {
      get: (target, name, receiver) => {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        if (name === "loop") return this.#loopOf(member as TaskContext["loop"]);
        return (...args: readonly unknown[]): unknown => {
          const returned: unknown = Reflect.apply(member, target, args);
          if (returned instanceof Promise) this.#follow(returned, storedKey(args[0] as JournalKey));
          return returned;
        };
      },
    });
  }

  /** What waits is what a round calls, and the end of the round: the write of the next one. */
  #loopOf(loop: TaskContext["loop"]): TaskContext["loop"] {
    return (loopName, initial, fn) => {
      const rounds = loop(loopName, initial, async (state, context) => {
        const round = roundName(loopName, context.number);
        const returned = await fn(
          state,
          this.watch(context, (key) => roundKey(round, key)),
        );
        if (returned instanceof NextRound) this.#follow(rounds, loopName);
        return returned;
      });
      return rounds;
    };
  }

  #follow(call: Promise<unknown>, key: JournalKey): void {
    this.#open.add(call);
    this.#move();
    const ended = (): void => {
      this.#open.delete(call);
      this.#move();
    };
    call.then(ended, (error: unknown) => {
      if (error instanceof HoldfastError && error.code === "replay_mismatch") {
        const encoded = encodeJournalKey(key);
        this.#changed.set(encoded, { key: encoded, problem: error.message });
      }
      ended();
    });
  }

  #move(): void {
    this.#moves++;
    this.#onMove();
  }
}
