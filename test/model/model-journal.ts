import type { Refusal, TaskCommand } from "../../src/task/command.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import type { Effect, ModelTask } from "./model-task.ts";
import { goesOn, said, works } from "./model-waiting.ts";

// What enters a journal, and what ends there.

export type JournalCommand = TaskCommand<
  | "record_step"
  | "write_piece"
  | "retry_step"
  | "begin_step"
  | "next_round"
  | "sleep"
  | "end_sleep"
  | "open_input"
  | "close_wait"
  | "answer_inputs"
  | "call_tool"
  | "wait_event"
>;

type Named = Pick<JournalEntry, "key" | "kind">;

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
};

/** What is stored of events of a task: one that a wait has taken is kept only to be known again, and has no value. */
export interface ModelEvent {
  readonly name: string;
  readonly value: string | null;
  readonly dedupeId: string | null;
}

export const idle: Effect = { task: {}, idle: true };

export function isOpen({ doneAt }: JournalEntry): boolean {
  return doneAt === null;
}

/** Its questions, calls and waits for events that have not ended. */
export function openOf({ journal }: Pick<ModelTask, "journal">): readonly JournalEntry[] {
  return journal.filter(({ kind, doneAt }) => !isOwn(kind) && doneAt === null);
}

/** Ended by the handler itself. */
function isOwn(kind: JournalEntry["kind"]): boolean {
  return kind === "step" || kind === "sleep" || kind === "artifact" || kind === "loop";
}

export function journalEffect(old: ModelTask, command: JournalCommand): Effect | Refusal {
  const { task, journal } = old;
  const { now } = command;
  const done = { doneAt: now, doneVersion: task.version + 1 };
  const own = openOf(old);
  const open = own.filter(({ kind }) => kind === "input");
  const openWaits = own.length - open.length;
  const known = (key: string): JournalEntry | undefined => journal.find((entry) => entry.key === key);
  const write = (entry: Partial<JournalEntry> & Named, members: Partial<TaskRecord>): Effect | Refusal =>
    known(entry.key) !== undefined
      ? "duplicate"
      : {
          task: { journalled: true, crashes: 0, ...members },
          entries: [{ ...blank, begunAt: now, ...entry }],
        };
  /** A step that is to be tried again is written over. */
  const writeStep = (
    entry: Partial<JournalEntry> & Named,
    members: Partial<TaskRecord>,
  ): Effect | Refusal => {
    const before = known(entry.key);
    if (before !== undefined && !(before.kind === entry.kind && isOpen(before))) return "duplicate";
    const begunAt = before === undefined ? (entry.begunAt ?? null) : before.begunAt;
    const written = { ...blank, tries: before?.tries ?? 0, ...entry, begunAt };
    return { task: { journalled: true, crashes: 0, ...members }, entries: [written] };
  };
  const close = (entries: readonly JournalEntry[]): Effect => {
    const openInputs = task.childInputs + open.length - entries.length;
    return { task: { openInputs, ...goesOn(task, now), crashes: 0, updatedAt: now }, entries };
  };
  switch (command.type) {
    case "record_step": {
      const { key, value, error, beforeHandler, artifact, begunAt = null } = command;
      const ends = artifact && known(key) !== undefined;
      const fewer = ends ? { openArtifacts: (task.openArtifacts ?? 0) - 1 } : {};
      const change = { ...works, ...fewer, journalled: beforeHandler === undefined };
      const kind = artifact ? "artifact" : "step";
      const written = writeStep({ key, kind, value, error, begunAt, ...done }, change);
      if (typeof written === "string" || error === null || !artifact) return written;
      return { ...written, pieces: old.pieces.filter((piece) => piece.key !== key) };
    }
    case "write_piece": {
      const { key, seq, body } = command;
      const before = known(key);
      if (before !== undefined && !(before.kind === "artifact" && isOpen(before))) return "duplicate";
      const kept = old.pieces.filter((piece) => piece.key !== key || (seq > 0 && piece.seq !== seq));
      const pieces = [...kept, { key, seq, body }];
      const change = { journalled: true, ...works };
      if (before !== undefined) return { task: change, pieces };
      const entry = { ...blank, key, kind: "artifact", begunAt: now } as const;
      return { task: { ...change, openArtifacts: (task.openArtifacts ?? 0) + 1 }, entries: [entry], pieces };
    }
    case "retry_step": {
      const { key, error, tries, until: deadlineAt, value = null, begunAt = null } = command;
      const failed = { key, kind: "step", value, error, tries, begunAt, deadlineAt } as const;
      return writeStep(failed, said(task, own.length, command.rest));
    }
    case "begin_step": {
      const { key, value, begunAt = null } = command;
      const crashes = command.goesOn === true ? 0 : task.crashes;
      return writeStep({ key, kind: "step", value, begunAt }, { ...works, crashes });
    }
    case "next_round": {
      const { key, value, round: tries } = command;
      const before = known(key);
      if (before !== undefined && before.kind !== "loop") return "duplicate";
      const over = closedBy(command, own);
      const asked = over.filter(({ kind }) => kind === "input").length;
      const waits = over.length - asked;
      const counts = { openInputs: task.openInputs - asked, openWaits: openWaits - waits };
      const free = {
        ...works,
        state: "queued",
        token: null,
        owner: null,
        lane: "woken",
        runAfter: now,
      } as const;
      const seen = asked > 0 ? { updatedAt: now } : {};
      const begunAt = before?.begunAt ?? now;
      return {
        task: { ...free, ...counts, ...seen, journalled: true, crashes: 0, failures: 0 },
        entries: [{ ...blank, key, kind: "loop", value, tries, begunAt }],
        drops: (entry) =>
          isOfRounds(key, entry) &&
          (over.includes(entry) ||
            ["step", "sleep"].includes(entry.kind) ||
            (!isOwn(entry.kind) && !isOpen(entry))),
      };
    }
    case "sleep":
      return write(
        { key: command.key, kind: "sleep", deadlineAt: command.until },
        said(task, own.length, command.rest),
      );
    case "end_sleep": {
      const asleep = known(command.key);
      if (asleep?.kind !== "sleep" || !isOpen(asleep)) return "state";
      return { task: { ...works, crashes: 0 }, entries: [{ ...asleep, ...done }] };
    }
    case "open_input": {
      const { input, requestHash, deadlineAt } = command;
      const { key, method, params: request } = input;
      const openInputs = task.childInputs + open.length + 1;
      const asks = { openInputs, ...said(task, own.length + 1, command.rest), updatedAt: now };
      return write({ key, kind: "input", method, request, requestHash, deadlineAt }, asks);
    }
    case "close_wait": {
      const meant = own.find(({ key, kind }) => key === command.key && kind !== "call");
      if (meant === undefined) return "state";
      const given = [{ ...meant, error: command.error, ...done }];
      if (meant.kind === "input") return close(given);
      return { task: { ...works, openWaits: openWaits - 1, crashes: 0 }, entries: given };
    }
    case "answer_inputs": {
      const first = new Map([...command.answers].reverse().map(({ key, ...end }) => [key, end]));
      const order = [...new Set(command.answers.map(({ key }) => key))];
      const inTime = open.filter(({ key, deadlineAt }) => first.has(key) && (deadlineAt ?? Infinity) > now);
      inTime.sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
      if (inTime.length === 0) return idle;
      return close(inTime.map((entry) => ({ ...entry, ...first.get(entry.key), ...done })));
    }
    case "call_tool": {
      const { key, child, requestHash } = command;
      const calls = { openWaits: openWaits + 1, ...said(task, own.length + 1, command.rest) };
      return write({ key, kind: "call", request: child.tool, requestHash }, calls);
    }
    case "wait_event": {
      const { key, name, requestHash, deadlineAt } = command;
      const wait = { key, kind: "event", request: name, requestHash, deadlineAt } as const;
      const waits = { openWaits: openWaits + 1, ...said(task, own.length + 1, command.rest) };
      const kept = old.events.find((event) => event.name === name && event.value !== null);
      if (kept === undefined) return write(wait, waits);
      const taken = write({ ...wait, value: kept.value, ...done }, works);
      return typeof taken === "string" ? taken : { ...taken, events: without(old.events, kept) };
    }
  }
}

/** Whether an entry is of a round of this loop. */
export function isOfRounds(loop: string, { key }: JournalEntry): boolean {
  return key.startsWith(`[${JSON.stringify(loop)},"round `);
}

/** What a next round closes of what is open. */
export function closedBy(
  { key, open }: TaskCommand<"next_round">,
  all: readonly JournalEntry[],
): readonly JournalEntry[] {
  return all.filter((entry) => isOfRounds(key, entry) && open.includes(entry.key));
}

/** An event that a wait has taken. */
function without(events: readonly ModelEvent[], taken: ModelEvent): readonly ModelEvent[] {
  const rest = { ...taken, value: null };
  return events.flatMap((event) => (event !== taken ? [event] : rest.dedupeId === null ? [] : [rest]));
}
