import type { Refusal, TaskCommand } from "../../src/task/command.ts";
import type { CrashBackoff } from "../../src/task/crash-backoff.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import type { Outcome } from "../../src/task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../src/task/record.ts";

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
  | "reclaim"
  | "join"
  | "leave"
  | "delete_expired"
  | "release_key"
  | "delete"
  | "keep_secret";
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
    return { task: { openInputs, waiting: openInputs > 0, crashes: 0, updatedAt: now }, entries };
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
      return { task: begun(task, by, command.token, now) };
    case "release":
      return { task: { state: "queued", ...nobodys, runAfter: now } };
    case "mark":
      return { task: { journalled: true, waiting: command.waiting } };
    case "record_step": {
      const { key, value, error, beforeHandler } = command;
      const change = { waiting: false, journalled: beforeHandler === undefined };
      return write({ key, kind: "step", value, error, ...done }, change);
    }
    case "sleep":
      return write({ key: command.key, kind: "sleep", deadlineAt: command.until }, { waiting: true });
    case "end_sleep": {
      const lasts = ({ key, kind, doneAt }: JournalEntry): boolean =>
        key === command.key && kind === "sleep" && doneAt === null;
      const asleep = journal.find(lasts);
      if (asleep === undefined) return "state";
      return { task: { waiting: open.length > 0, crashes: 0 }, entries: [{ ...asleep, ...done }] };
    }
    case "open_input": {
      const { input, requestHash, deadlineAt } = command;
      const { key, method, params: request } = input;
      const asks = { openInputs: open.length + 1, waiting: true, updatedAt: now };
      return write({ key, kind: "input", method, request, requestHash, deadlineAt }, asks);
    }
    case "close_input": {
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
      return { task: { ...others, ...(progress && !isBehind && { progress }), updatedAt: now } };
    }
    case "request_cancel": {
      if (task.cancelRequestedAt !== null) return idle;
      const first = Math.min(task.cancelBy ?? Infinity, command.cancelBy ?? Infinity);
      return { task: { cancelRequestedAt: now, cancelBy: first === Infinity ? null : first } };
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
export function started(old: ModelTask, by: string, token: string, now: number): ModelTask {
  return changed(old, { task: begun(old.task, by, token, now) });
}

function begun(task: TaskRecord, owner: string, token: string, now: number): Partial<TaskRecord> {
  const first = { attempt: task.attempt + 1, startedAt: task.startedAt ?? now };
  return { state: "running", owner, token, runAfter: null, waiting: false, ...first };
}

/** The task, given back to the queue. A crash is the task's fault where its handler ran, and not where it waited. */
export function given(old: ModelTask, now: number, { baseMs, maxMs, maxCrashes }: CrashBackoff): ModelTask {
  const crashes = old.task.crashes + (old.task.waiting ? 0 : 1);
  const pauses = [0, 0, baseMs, baseMs * 2, baseMs * 4, baseMs * 8, baseMs * 16];
  const runAfter = now + (crashes < maxCrashes ? Math.min(pauses[crashes] ?? Infinity, maxMs) : 0);
  return changed(old, { task: { state: "queued", ...nobodys, crashes, runAfter } });
}

/** The task after an effect: one version on, its journal in the order of first writes. */
export function changed(old: ModelTask, { task, entries = [], outcome, visibleUntil }: Effect): ModelTask {
  const rewritten = old.journal.map((entry) => entries.find(({ key }) => key === entry.key) ?? entry);
  const added = entries.filter(({ key }) => !old.journal.some((entry) => entry.key === key));
  return {
    ...old,
    task: withSweepAt(
      { ...old.task, ...task, version: old.task.version + 1 },
      visibleUntil,
      old.task.updatedAt,
    ),
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
  doneAt: null,
  doneVersion: null,
};

/** No attempt holds the task. */
const nobodys = { owner: null, token: null, runAfter: null, waiting: false };
