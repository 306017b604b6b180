/**
 * What a command writes to the journal, and what that changes in the record.
 * - Pure, like `decide.ts`, and used by it for the commands about journal entries.
 * - An entry that has ended is not changed, except that a retry of the handler forgets failed ones, and the next round of a loop all of its
 *   rounds.
 */

import type { Refusal, TaskCommand } from "./command.ts";
import { isEndedByOthers, roundsPrefix, type JournalEntry, type JournalKind } from "./journal.ts";
import type { TaskRecord } from "./record.ts";
import { storable } from "./time.ts";
import { ready, type Rest, resting, resumed, working } from "./queue.ts";

/** The end of a call: the task made for it has ended. */
interface EndCall {
  readonly type: "end_call";
  readonly now: number;
  readonly id: string;
  readonly key: string;
  /** Raw JSON of the result; exactly one of this and `error`. */
  readonly value: string | null;
  /** Raw JSON of a `CallFailure`. */
  readonly error: string | null;
}

/** Commands that write the journal of a task. */
export type JournalCommand =
  | TaskCommand<
      | "record_step"
      | "write_piece"
      | "retry_step"
      | "begin_step"
      | "next_round"
      | "open_input"
      | "close_wait"
      | "sleep"
      | "end_sleep"
      | "answer_inputs"
      | "call_tool"
      | "wait_event"
      | "send_event"
    >
  | EndCall;

/** What a journal command depends on besides the record. */
export interface JournalFacts {
  /** Looks up one journal entry of the task. */
  readonly entry: (key: string) => JournalEntry | undefined;
  /** For `wait_event`: the value of the first event kept for it. */
  readonly keptEvent?: string | undefined;
  /** For `send_event`: the wait that it ends. */
  readonly eventWait?: JournalEntry | undefined;
}

/** The task after the command, and the entries to insert or replace; undefined if there is nothing to write. */
interface JournalChange {
  readonly task: TaskRecord;
  readonly journal: readonly JournalEntry[];
  readonly pieces?: PieceChange;
  readonly forgets?: Forgotten;
}

/** Entries to remove before others are written: failed steps and calls, and steps that have not ended; or those of the rounds of a loop. */
export type Forgotten = "failures" | ForgottenRounds;

export interface ForgottenRounds {
  /** What the keys of the rounds begin with. */
  readonly under: string;
  /** The keys of questions, calls and waits for events that have not ended. Others that have not ended stay until they end. */
  readonly open: readonly string[];
}

/** Whether the entry goes with the rounds of its loop. Artifacts stay. */
export function goesWith({ under, open }: ForgottenRounds, { key, kind, doneAt }: JournalEntry): boolean {
  if (!key.startsWith(under) || kind === "artifact" || kind === "loop") return false;
  return !isEndedByOthers(kind) || doneAt !== null || open.includes(key);
}

/** What becomes of pieces of artifacts: one is stored, those of an artifact are removed, or those of all that have not ended. */
export type PieceChange =
  | { readonly do: "write"; readonly key: string; readonly seq: number; readonly body: string }
  | { readonly do: "drop"; readonly key: string }
  | { readonly do: "drop_open" };

/** The default values of an entry of any kind. */
const blank = {
  method: null,
  request: null,
  requestHash: null,
  value: null,
  error: null,
  deadlineAt: null,
  tries: 0,
  begunAt: null,
  doneAt: null,
  doneVersion: null,
} as const;

/** What such a command changes (`undefined`: nothing), or why it is refused. */
export function journalChange(
  task: TaskRecord,
  command: JournalCommand,
  facts: JournalFacts,
): JournalChange | undefined | Refusal {
  const { now } = command;
  const done = { doneAt: now, doneVersion: task.version + 1 };
  const entryOf = facts.entry;
  const blankOf = (key: string, kind: JournalKind): JournalEntry => ({ ...blank, key, kind, begunAt: now });
  const waits = (waiting: TaskRecord, rest: Rest | undefined, entry: JournalEntry): JournalChange => ({
    task: { ...waiting, ...resting(waiting, rest), journalled: true, crashes: 0 },
    journal: [entry],
  });
  const endedByOthers = (open: JournalEntry, end: Pick<JournalEntry, "value" | "error">): JournalChange => ({
    task: { ...task, ...resumed(task, now), ...withoutWait(task, open, now), crashes: 0 },
    journal: [{ ...open, ...end, ...done }],
  });
  switch (command.type) {
    case "record_step": {
      const { key, value, error } = command;
      const kind = command.artifact === true ? "artifact" : "step";
      const before = entryOf(key);
      if (before !== undefined && lasting(kind, before) === undefined) return "duplicate";
      const tries = before?.tries ?? 0;
      const begunAt = begunAtOf(command, before);
      const isClosing = kind === "artifact" && before !== undefined;
      return {
        task: {
          ...task,
          ...working,
          ...(isClosing && openArtifacts(task, -1)),
          journalled: !command.beforeHandler,
          crashes: 0,
        },
        journal: [{ ...blank, key, kind, value, error, tries, begunAt, ...done }],
        ...(isClosing && error !== null && { pieces: { do: "drop", key } }),
      };
    }
    case "write_piece": {
      // Not yet progress: an artifact that brings down its process each time must not go on for ever.
      const { key, seq, body } = command;
      const before = entryOf(key);
      if (before !== undefined && lasting("artifact", before) === undefined) return "duplicate";
      const isNew = before === undefined;
      return {
        task: { ...task, ...working, ...(isNew && openArtifacts(task, 1)), journalled: true },
        journal: isNew ? [blankOf(key, "artifact")] : [],
        pieces: { do: "write", key, seq, body },
      };
    }
    case "retry_step": {
      const { key, error, tries, until, value = null } = command;
      const before = entryOf(key);
      if (before !== undefined && lasting("step", before) === undefined) return "duplicate";
      const begunAt = begunAtOf(command, before);
      const paused = { ...blankOf(key, "step"), value, error, tries, begunAt, deadlineAt: storable(until) };
      return waits(task, command.rest, paused);
    }
    case "begin_step": {
      const { key, value, goesOn } = command;
      const before = entryOf(key);
      if (before !== undefined && lasting("step", before) === undefined) return "duplicate";
      const tries = before?.tries ?? 0;
      const begunAt = begunAtOf(command, before);
      return {
        task: { ...task, ...working, journalled: true, ...(goesOn && { crashes: 0 }) },
        journal: [{ ...blank, key, kind: "step", value, tries, begunAt }],
      };
    }
    case "next_round": {
      const { key, value, round, open } = command;
      const before = entryOf(key);
      if (before !== undefined && lasting("loop", before) === undefined) return "duplicate";
      const under = roundsPrefix(key);
      const over = [...new Set(open)].flatMap((each) => {
        const entry = each.startsWith(under) ? entryOf(each) : undefined;
        return entry?.doneAt === null && isEndedByOthers(entry.kind) ? [entry] : [];
      });
      const asked = over.filter(({ kind }) => kind === "input").length;
      return {
        task: {
          ...task,
          ...ready("woken", now),
          token: null,
          openInputs: task.openInputs - asked,
          openWaits: task.openWaits - (over.length - asked),
          failures: 0,
          crashes: 0,
          journalled: true,
          ...(asked > 0 && { updatedAt: now }),
        },
        journal: [{ ...blank, key, kind: "loop", value, tries: round, begunAt: before?.begunAt ?? now }],
        forgets: { under, open: over.map((entry) => entry.key) },
      };
    }
    case "open_input": {
      const { key, method, params } = command.input;
      if (entryOf(key) !== undefined) return "duplicate";
      const { requestHash, rest } = command;
      const deadlineAt = time(command.deadlineAt);
      const asking = { ...task, openInputs: task.openInputs + 1, updatedAt: now };
      return waits(asking, rest, {
        ...blankOf(key, "input"),
        method,
        request: params,
        requestHash,
        deadlineAt,
      });
    }
    case "close_wait": {
      const before = entryOf(command.key);
      const open = lasting("input", before) ?? lasting("event", before);
      if (open === undefined) return "state";
      return {
        task: { ...task, ...working, ...withoutWait(task, open, now), crashes: 0 },
        journal: [{ ...open, error: command.error, ...done }],
      };
    }
    case "sleep": {
      const { key } = command;
      if (entryOf(key) !== undefined) return "duplicate";
      return waits(task, command.rest, { ...blankOf(key, "sleep"), deadlineAt: storable(command.until) });
    }
    case "end_sleep": {
      const asleep = lasting("sleep", entryOf(command.key));
      if (asleep === undefined) return "state";
      return { task: { ...task, ...working, crashes: 0 }, journal: [{ ...asleep, ...done }] };
    }
    case "answer_inputs": {
      const answered = takeAnswers(command, entryOf).map((answer) => ({ ...answer, ...done }));
      if (answered.length === 0) return undefined;
      const openInputs = task.openInputs - answered.length;
      return {
        task: { ...task, ...resumed(task, now), openInputs, crashes: 0, updatedAt: now },
        journal: answered,
      };
    }
    case "call_tool": {
      const { key, requestHash, child } = command;
      if (entryOf(key) !== undefined) return "duplicate";
      const calling = { ...task, openWaits: task.openWaits + 1 };
      return waits(calling, command.rest, { ...blankOf(key, "call"), request: child.tool, requestHash });
    }
    case "end_call": {
      const open = lasting("call", entryOf(command.key));
      if (open === undefined) return "state";
      return endedByOthers(open, { value: command.value, error: command.error });
    }
    case "wait_event": {
      const { key, name, requestHash } = command;
      if (entryOf(key) !== undefined) return "duplicate";
      const deadlineAt = time(command.deadlineAt);
      const wait = { ...blankOf(key, "event"), request: name, requestHash, deadlineAt };
      if (facts.keptEvent !== undefined) {
        return {
          task: { ...task, ...working, journalled: true, crashes: 0 },
          journal: [{ ...wait, value: facts.keptEvent, ...done }],
        };
      }
      const waiting = { ...task, openWaits: task.openWaits + 1 };
      return waits(waiting, command.rest, wait);
    }
    case "send_event": {
      const open = lasting("event", facts.eventWait);
      if (open === undefined) return undefined; // the store keeps the event
      return endedByOthers(open, { value: command.value, error: null });
    }
  }
}

function openArtifacts({ openArtifacts: before = 0 }: TaskRecord, by: 1 | -1): Partial<TaskRecord> {
  return { openArtifacts: before + by };
}

/** A retried step began with its first try. */
function begunAtOf(
  { begunAt }: TaskCommand<"record_step" | "retry_step" | "begin_step">,
  before: JournalEntry | undefined,
): number | null {
  return before === undefined ? time(begunAt ?? null) : before.begunAt;
}

/** One question or wait fewer. Clients only see the set of open questions. */
function withoutWait(
  { openInputs, openWaits }: TaskRecord,
  { kind }: JournalEntry,
  now: number,
): Partial<TaskRecord> {
  return kind === "input" ? { openInputs: openInputs - 1, updatedAt: now } : { openWaits: openWaits - 1 };
}

function time(at: number | null): number | null {
  return at === null ? null : storable(at);
}

/** The open inputs that these answers end, in the order of the answers: for each input, the first answer in time. */
function takeAnswers(
  command: TaskCommand<"answer_inputs">,
  entry: (key: string) => JournalEntry | undefined,
): JournalEntry[] {
  const taken = new Map<string, JournalEntry>();
  for (const answer of command.answers) {
    const { key } = answer;
    const open = lasting("input", entry(key));
    if (open === undefined || taken.has(key)) continue;
    if (open.deadlineAt !== null && open.deadlineAt <= (command.past ?? command.now)) continue;
    const end = "error" in answer ? { error: answer.error } : { value: answer.value };
    taken.set(key, { ...open, ...end });
  }
  return [...taken.values()];
}

/** The entry, if it is of this kind and has not ended. */
function lasting(kind: JournalKind, entry: JournalEntry | undefined): JournalEntry | undefined {
  return entry?.kind === kind && entry.doneAt === null ? entry : undefined;
}
