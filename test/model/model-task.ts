import type { Refusal } from "../../src/task/command-result.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { CrashBackoff } from "../../src/task/crash-backoff.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import type { Outcome } from "../../src/task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../src/task/record.ts";
import type { Rest } from "../../src/task/waiting.ts";

// What may happen to one task, said once more in the words of the design: nothing of src runs here. A command that
// is new to the project becomes a case of `effect`.

export interface ModelTask {
  readonly task: TaskRecord;
  readonly request: TaskRequest;
  readonly journal: readonly JournalEntry[];
  readonly outcome: Outcome | null;
  /** The queue of messages, the first one first; `owner`: whom one is bound to. */
  readonly messages: readonly { readonly body: string; readonly owner: string | null }[];
}

type Elsewhere =
  | "create"
  | "claim"
  | "wake"
  | "reclaim"
  | "join"
  | "leave"
  | "delete_expired"
  | "release_key"
  | "delete"
  | "keep_secret"
  | "retry"
  | "retry_step"
  | "call_tool"
  | "wait_event"
  | "send_event";
export type ChangeCommand = Exclude<TaskCommand, TaskCommand<Elsewhere>>;

export interface Effect {
  readonly task: Partial<TaskRecord>;
  readonly entries?: readonly JournalEntry[];
  readonly outcome?: Outcome;
  /** True where the command is accepted and there is nothing for it to do. */
  readonly idle?: true;
  /** Only for what outlived its time. */
  readonly visibleUntil?: number;
}

/** The first settlement wins. A token has to be the holder's, and only a task that nobody holds can be taken. */
export function refusal(
  { task }: ModelTask,
  command: ChangeCommand,
  { isServed, isWanted }: { readonly isServed: boolean; readonly isWanted: boolean },
): Refusal | undefined {
  if (task.finishedAt !== null) return "finished";
  if (command.type === "fail" && command.orphaned && isServed) return "state";
  if (command.type === "start" || command.type === "fail") return task.token === null ? undefined : "state";
  if ("token" in command && command.token !== task.token) return "fenced";
  const isToCancel = (task.cancelBy ?? Infinity) <= command.now;
  if (command.type === "expire" && (isToCancel || (task.sweepAt ?? Infinity) > command.now)) return "not_due";
  if (command.type === "cancel" && command.scheduled && !isToCancel) return "not_due";
  if (command.type === "cancel" && command.unlessWanted && isWanted) return "awaited";
  return undefined;
}

/** What a command of the owner `by` does. */
export function effect({ task, journal }: ModelTask, command: ChangeCommand, by: string): Effect | Refusal {
  const { now } = command;
  const done = { doneAt: now, doneVersion: task.version + 1 };
  const open = journal.filter(({ kind, doneAt }) => kind === "input" && doneAt === null);
  const write = (entry: Partial<JournalEntry> & Named, members: Partial<TaskRecord>): Effect | Refusal =>
    journal.some(({ key }) => key === entry.key)
      ? "duplicate"
      : { task: { journalled: true, crashes: 0, ...members }, entries: [{ ...blank, ...entry }] };
  const close = (entries: readonly JournalEntry[]): Effect => {
    const openInputs = open.length - entries.length;
    return { task: { openInputs, ...goesOn(task, now), crashes: 0, updatedAt: now }, entries };
  };
  const finish = (
    state: "settled" | "cancelled",
    statusMessage = task.statusMessage,
  ): Partial<TaskRecord> => {
    const ended = { openInputs: 0, cancelBy: null, finishedAt: now, updatedAt: now };
    return { state, statusMessage, ...nobodys, ...ended };
  };
  switch (command.type) {
    case "start":
      return { task: begun(task, by, { ...command, limited: command.limited === true }) };
    case "release":
      return { task: { ...letGo(task, now, "recovered"), owner: null } };
    case "park":
      return { task: letGo(task, now, "woken") };
    case "mark":
      return { task: { journalled: true, ...said(task, open.length, command.rest) } };
    case "record_step": {
      const { key, value, error, beforeHandler } = command;
      const change = { ...works, journalled: beforeHandler === undefined };
      return write({ key, kind: "step", value, error, ...done }, change);
    }
    case "sleep":
      return write(
        { key: command.key, kind: "sleep", deadlineAt: command.until },
        said(task, open.length, command.rest),
      );
    case "end_sleep": {
      const lasts = ({ key, kind, doneAt }: JournalEntry): boolean =>
        key === command.key && kind === "sleep" && doneAt === null;
      const asleep = journal.find(lasts);
      if (asleep === undefined) return "state";
      return { task: { ...works, crashes: 0 }, entries: [{ ...asleep, ...done }] };
    }
    case "open_input": {
      const { input, requestHash, deadlineAt } = command;
      const { key, method, params: request } = input;
      const openInputs = open.length + 1;
      const asks = { openInputs, ...said(task, openInputs, command.rest), updatedAt: now };
      return write({ key, kind: "input", method, request, requestHash, deadlineAt }, asks);
    }
    case "close_wait": {
      const meant = open.filter(({ key }) => key === command.key);
      const { error } = command;
      return meant.length === 0 ? "state" : close(meant.map((entry) => ({ ...entry, error, ...done })));
    }
    case "answer_inputs": {
      const first = new Map([...command.answers].reverse().map(({ key, ...end }) => [key, end]));
      const order = [...new Set(command.answers.map(({ key }) => key))];
      const inTime = open.filter(({ key, deadlineAt }) => first.has(key) && (deadlineAt ?? Infinity) > now);
      inTime.sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
      if (inTime.length === 0) return idle;
      return close(inTime.map((entry) => ({ ...entry, ...first.get(entry.key), ...done })));
    }
    case "update": {
      const { progress, ...others } = command.changes;
      const isBehind = (progress?.progress ?? Infinity) < (task.progress?.progress ?? -Infinity);
      if (isBehind && Object.keys(others).length === 0) return idle;
      // Whoever tells of waits beside the journal is the only one who knows when they end.
      const rest = others.waiting === undefined ? {} : { runAfter: null };
      return { task: { ...others, ...rest, ...(progress && !isBehind && { progress }), updatedAt: now } };
    }
    case "request_cancel": {
      if (task.cancelRequestedAt !== null) return idle;
      const first = Math.min(task.cancelBy ?? Infinity, command.cancelBy ?? Infinity);
      const cancelBy = first === Infinity ? null : first;
      return { task: { cancelRequestedAt: now, cancelBy, ...goesOn(task, now), ...pauseEnds(task, now) } };
    }
    case "settle":
    case "fail":
    case "expire": {
      const { outcome, statusMessage } = command;
      const visible = command.type === "expire" ? { visibleUntil: command.visibleUntil } : {};
      const ended = { ...finish("settled", statusMessage), outcomeKind: outcome.kind };
      return { task: ended, outcome, ...visible };
    }
    case "cancel": {
      const cancelRequestedAt = task.cancelRequestedAt ?? now;
      // That its caller left is no reason to give for a task whose requestor asked.
      const text = command.scheduled && task.cancelRequestedAt !== null ? undefined : command.statusMessage;
      return { task: { ...finish("cancelled", text), cancelRequestedAt } };
    }
  }
}

/** The task, claimed by an owner. */
export function started(old: ModelTask, by: string, how: Start): ModelTask {
  return changed(old, { task: begun(old.task, by, how) });
}

interface Start {
  readonly token: string;
  readonly now: number;
  readonly limited: boolean;
}

function begun(task: TaskRecord, owner: string, { token, now, limited }: Start): Partial<TaskRecord> {
  const first = { attempt: task.attempt + 1, startedAt: task.startedAt ?? now };
  return { state: "running", owner, token, limited, lane: null, ...works, ...first };
}

/** A handler that runs, or is about to. */
const works = { waiting: false, runAfter: null };

/**
 * What an attempt says of its handler is so where it knows of as many questions as are open, or it would sleep through an answer.
 * A task that is to be cancelled waits for nothing else.
 */
function said({ cancelRequestedAt }: TaskRecord, open: number, rest: Rest | undefined): Partial<TaskRecord> {
  if (rest?.open !== open) return works;
  return { waiting: true, runAfter: cancelRequestedAt === null ? rest.runAfter : null };
}

/** Something has come for the task, whose handler is to see it. It is no reason to try one sooner that crashes. */
function goesOn({ state, waiting }: TaskRecord, now: number): Partial<TaskRecord> {
  if (state === "running") return works;
  return waiting ? { waiting: false, lane: "woken", runAfter: now } : {};
}

/** Only a cancel ends a pause. */
function pauseEnds({ state, lane, waiting }: TaskRecord, now: number): Partial<TaskRecord> {
  return state === "queued" && lane === null && !waiting ? { lane: "recovered", runAfter: now } : {};
}

/** Its attempt gives the task up: it waits for what its handler waited for, or can be claimed at once. */
function letGo(task: TaskRecord, now: number, lane: "woken" | "recovered"): Partial<TaskRecord> {
  const free = { state: "queued", token: null } as const;
  return task.runAfter === null ? { ...free, lane, waiting: false, runAfter: now } : free;
}

/** The task, whose time has come. */
export function woken(old: ModelTask, now: number): ModelTask {
  const lane = old.task.waiting ? "woken" : "recovered";
  return changed(old, { task: { lane, waiting: false, runAfter: now } });
}

/** The task, given back to the queue. A crash is the task's fault where its handler ran, and not where it waited. */
export function given(old: ModelTask, now: number, { baseMs, maxMs, maxCrashes }: CrashBackoff): ModelTask {
  const crashes = old.task.crashes + (old.task.waiting ? 0 : 1);
  const pauses = [0, 0, baseMs, baseMs * 2, baseMs * 4, baseMs * 8, baseMs * 16];
  const pause = crashes < maxCrashes ? Math.min(pauses[crashes] ?? Infinity, maxMs) : 0;
  const later = pause > 0 && old.task.runAfter === null ? { lane: null, runAfter: now + pause } : {};
  return changed(old, { task: { ...letGo(old.task, now, "recovered"), ...later, owner: null, crashes } });
}

/** The task after an effect: one version on, its journal in the order of first writes. */
export function changed(old: ModelTask, { task, entries = [], outcome, visibleUntil }: Effect): ModelTask {
  const rewritten = old.journal.map((entry) => entries.find(({ key }) => key === entry.key) ?? entry);
  const added = entries.filter(({ key }) => !old.journal.some((entry) => entry.key === key));
  const next = { ...old.task, ...task, version: old.task.version + 1 };
  // What does not run counts for no limit.
  const limited = next.limited && next.state === "running";
  return {
    ...old,
    task: withSweepAt({ ...next, limited }, visibleUntil, old.task.updatedAt),
    journal: [...rewritten, ...added],
    outcome: outcome ?? old.outcome,
  };
}

/**
 * Unfinished: the end of its life, else of its run, or the cancel that is to come. Finished: the end of its life, and not
 * before `visibleUntil`, nor before the end that its clients saw until then.
 */
export function withSweepAt(task: TaskRecord, visibleUntil = -Infinity, seenAt = task.updatedAt): TaskRecord {
  const { expiry, createdAt, finishedAt, runUntil, cancelBy } = task;
  const start = expiry.from === "created" ? createdAt : finishedAt;
  const end = expiry.ms === null || start === null ? null : start + expiry.ms;
  if (finishedAt === null) {
    const first = Math.min(end ?? runUntil ?? Infinity, cancelBy ?? Infinity);
    return { ...task, sweepAt: first === Infinity ? null : first };
  }
  const seen = end === null ? -Infinity : endThatShows(task, Math.max(finishedAt, seenAt));
  return { ...task, sweepAt: end === null ? null : Math.max(end, visibleUntil, seen) };
}

/** What an unfinished task shows as its end, where that moves: step by step, at most to the end of its run. */
function endThatShows({ generation, expiry, createdAt, runUntil }: TaskRecord, at: number): number {
  const hasTtl = generation === "2025-11-25" || generation === "2026-07-28";
  if (!hasTtl || expiry.from === "created" || expiry.ms === null) return -Infinity;
  const step = expiry.ms === 0 ? 1 : expiry.ms;
  let end = createdAt + step;
  while (end - at < step / 2) end += step;
  return runUntil === null ? end : Math.max(createdAt + step, Math.min(end, runUntil));
}

const idle: Effect = { task: {}, idle: true };

type Named = Pick<JournalEntry, "key" | "kind">;

const blank = {
  method: null,
  request: null,
  requestHash: null,
  value: null,
  error: null,
  deadlineAt: null,
  tries: 0,
  doneAt: null,
  doneVersion: null,
};

/** No attempt holds the task. */
const nobodys = { owner: null, token: null, lane: null, ...works };
