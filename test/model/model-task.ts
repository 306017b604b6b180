import type { BulkCommands, StartCommands } from "../../src/task/bulk.ts";
import { causeOf } from "../../src/task/cause.ts";
import type { Refusal, TaskCommand } from "../../src/task/command.ts";
import type { DeliveryCommands } from "../../src/task/delivery.ts";
import type { CrashBackoff } from "../../src/task/queue.ts";
import type { JournalEntry } from "../../src/task/journal.ts";
import type { Outcome } from "../../src/task/outcome.ts";
import type { TaskRecord, TaskRequest } from "../../src/task/record.ts";
import type { TaskLine } from "../../src/task/task-line.ts";
import { lost, oneMore } from "./model-attempts.ts";
import { idle, journalEffect, openOf, type ModelEvent } from "./model-journal.ts";
import { askedToCancel, leftAlone, letGo, pauses, said, works } from "./model-waiting.ts";

// What may happen to one task, said once more in the words of the design: nothing of src runs here. A command that
// is new to the project becomes a case of `effect`.

export interface ModelTask {
  readonly task: TaskRecord;
  readonly request: TaskRequest;
  readonly journal: readonly JournalEntry[];
  readonly outcome: Outcome | null;
  /** In the order in which they came. */
  readonly events: readonly ModelEvent[];
  /** Of its log and its output. */
  readonly lines: readonly TaskLine[];
  /** Of its artifacts. */
  readonly pieces: readonly ModelPiece[];
  /** The queue of messages, the first one first; `owner`: whom one is bound to. */
  readonly messages: readonly { readonly body: string; readonly owner: string | null }[];
}

export interface ModelPiece {
  readonly key: string;
  readonly seq: number;
  readonly body: string;
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
  | "retrieve"
  | "extend"
  | "delete"
  | "keep_secret"
  | "replace_secret"
  | "rekey"
  | keyof DeliveryCommands
  | keyof BulkCommands
  | keyof StartCommands
  | "send_event";
export type ChangeCommand = Exclude<TaskCommand, TaskCommand<Elsewhere>>;

export interface Effect {
  readonly task: Partial<TaskRecord>;
  readonly entries?: readonly JournalEntry[];
  /** True where the task is not blocked any more. */
  readonly goesOn?: true;
  /** True where the journal forgets what failed. */
  readonly forgets?: true;
  /** What the journal has no more. */
  readonly drops?: (entry: JournalEntry) => boolean;
  readonly events?: readonly ModelEvent[];
  readonly lines?: readonly TaskLine[];
  readonly pieces?: readonly ModelPiece[];
  readonly outcome?: Outcome;
  /** When it happens. */
  readonly now?: number;
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
  if (command.type === "orphan" && task.token === null && isServed) return "state";
  if (command.type === "unblock" && task.blocked === undefined) return "state";
  const isForQueued = ["start", "fail", "orphan", "unblock"].includes(command.type);
  if (isForQueued) return task.token === null ? undefined : "state";
  if ("token" in command && command.token !== task.token) return "fenced";
  const isToCancel = (task.cancelBy ?? Infinity) <= command.now;
  if (command.type === "expire" && (isToCancel || (task.sweepAt ?? Infinity) > command.now)) return "not_due";
  if (command.type === "cancel" && command.scheduled && !isToCancel) return "not_due";
  if (command.type === "cancel" && command.unlessWanted && isWanted) return "awaited";
  return undefined;
}

/** What an attempt does that a replay may do too, before it comes to what blocks the task, or that gives the task up. */
const lasting = ["start", "release", "block", "update", "append", "write_piece"];

/** What a command of the owner `by` does. A blocked task goes on with whatever its attempt does that is new, or ends. */
export function effect(old: ModelTask, command: ChangeCommand, by: string): Effect | Refusal {
  const done = ownEffect(old, command, by);
  const isNew = "token" in command && !lasting.includes(command.type);
  const ends = ["settle", "fail", "expire", "cancel"].includes(command.type);
  if (typeof done === "string" || old.task.blocked === undefined || !(isNew || ends)) return done;
  return { ...done, task: { ...done.task, updatedAt: command.now }, goesOn: true };
}

function ownEffect(old: ModelTask, command: ChangeCommand, by: string): Effect | Refusal {
  const { task } = old;
  const { now } = command;
  const finish = (state: "settled" | "cancelled", statusMessage: string | null): Partial<TaskRecord> => {
    const half = task.openArtifacts === undefined ? {} : { openArtifacts: 0 };
    const counts = { openInputs: 0, childInputs: 0, openWaits: 0, ...half };
    const ended = { ...counts, cancelBy: null, finishedAt: now, updatedAt: now };
    return { state, statusMessage, ...nobodys, ...ended };
  };
  switch (command.type) {
    case "start":
      return { task: begun(task, by, { ...command, limited: command.limited === true }) };
    case "release": {
      const left = leftAlone(task);
      const pause = left.runAfter === null ? pauses(command.until, now) : {};
      return { task: { ...letGo(left, now, "recovered"), ...pause, owner: null } };
    }
    case "retry": {
      const failed = { failures: task.failures + 1, statusMessage: command.statusMessage, updatedAt: now };
      // Nobody may have told the handler of a cancel.
      const until = task.cancelRequestedAt === null ? command.until : undefined;
      return { task: { ...pauses(until, now), crashes: 0, ...failed }, forgets: true };
    }
    case "block": {
      const { attempt, attempts } = task;
      const before = { attempt: attempt - 1, attempts: attempts.slice(0, -1) };
      // Nothing of the handler has run.
      const first = attempt === 1 ? { toolVersion: null } : {};
      return {
        task: { ...stuck(task, command), owner: null, ...(command.unbegun && { ...before, ...first }) },
      };
    }
    case "orphan":
      return { task: { ...stuck(task, command), owner: task.owner } };
    case "unblock":
      return { task: { lane: "recovered", ...works, runAfter: now } };
    case "park":
      return { task: letGo(task, now, "woken") };
    case "mark":
      return {
        task: { journalled: command.beforeHandler !== true, ...said(task, openOf(old).length, command.rest) },
      };
    case "update": {
      const { progress, ...others } = command.changes;
      const isBehind = (progress?.progress ?? Infinity) < (task.progress?.progress ?? -Infinity);
      if (isBehind && Object.keys(others).length === 0) return idle;
      // Whoever tells of waits beside the journal is the only one who knows when they end.
      const waitsFor = others.waiting === true ? ("question" as const) : null;
      const rest = others.waiting === undefined ? {} : { waitsFor, runAfter: null };
      return { task: { ...others, ...rest, ...(progress && !isBehind && { progress }), updatedAt: now } };
    }
    case "append": {
      const nameOf = ({ list, seq }: TaskLine): string => `${list} ${seq}`;
      const lines = new Map([...old.lines, ...command.lines].map((line) => [nameOf(line), line]));
      for (const seq of command.forget) lines.delete(`log ${seq}`);
      const last = (list: string, before: number): number =>
        Math.max(before, ...command.lines.filter((line) => line.list === list).map(({ seq }) => seq));
      const counts = { logged: last("log", task.logged), outputs: last("output", task.outputs) };
      return { task: counts, lines: [...lines.values()] };
    }
    case "request_cancel": {
      if (task.cancelRequestedAt !== null) return idle;
      return { task: askedToCancel(task, now, command.cancelBy) };
    }
    case "settle":
    case "fail":
    case "expire": {
      const { outcome, statusMessage } = command;
      const visible = command.type === "expire" ? { visibleUntil: command.visibleUntil } : {};
      const ended = {
        ...finish("settled", statusMessage ?? null),
        outcomeKind: outcome.kind,
        ...(outcome.kind !== "result" && {
          cause: causeOf(task.tool, statusMessage ?? null, command.failure),
        }),
      };
      return { task: ended, outcome, ...visible };
    }
    case "cancel": {
      const cancelRequestedAt = task.cancelRequestedAt ?? now;
      // That its caller left is no reason to give for a task whose requestor asked.
      const text = command.scheduled && task.cancelRequestedAt !== null ? undefined : command.statusMessage;
      return { task: { ...finish("cancelled", text ?? "Cancelled by the caller."), cancelRequestedAt } };
    }
    default:
      return journalEffect(old, command);
  }
}

/** The task, which no code can continue now; whoever is to hear of a cancel is tried at once. */
function stuck(
  task: TaskRecord,
  { block, until, now }: TaskCommand<"block" | "orphan">,
): Partial<TaskRecord> {
  const { since = now, tries = 0 } = task.blocked ?? {};
  const blocked = { ...block, since, tries: tries + 1 };
  const isNews = task.blocked === undefined ? { updatedAt: now } : {};
  return { ...pauses(task.cancelRequestedAt === null ? until : undefined, now), blocked, ...isNews };
}

/** The task, claimed by an owner. */
export function started(old: ModelTask, by: string, how: Start): ModelTask {
  return changed(old, { task: begun(old.task, by, how) });
}

interface Start {
  readonly token: string;
  readonly now: number;
  readonly limited: boolean;
  readonly version?: number | undefined;
}

/** What begins under a version goes on under it. */
function begun(task: TaskRecord, owner: string, how: Start): Partial<TaskRecord> {
  const { token, now, limited, version = null } = how;
  const toolVersion = task.attempt === 0 ? version : task.toolVersion;
  const attempts = oneMore(task, owner, now);
  const first = { attempt: task.attempt + 1, attempts, startedAt: task.startedAt ?? now, toolVersion };
  return { state: "running", owner, token, limited, lane: null, ...works, ...first };
}

/** The task, whose time has come. */
export function woken(old: ModelTask, now: number): ModelTask {
  const lane = old.task.waiting ? "woken" : "recovered";
  return changed(old, { task: { lane, waiting: false, waitsFor: null, runAfter: now } });
}

/** The task, given back to the queue. Its handler may have caused the crash where it ran, and not where it waited. */
export function given(
  old: ModelTask,
  now: number,
  { baseMs, maxMs, maxCrashes }: CrashBackoff,
  { counts, others }: Guilt,
): ModelTask {
  const crashes = old.task.crashes + (old.task.waiting ? 0 : 1);
  const left = leftAlone(old.task);
  const lengths = [0, 0, baseMs, baseMs * 2, baseMs * 4, baseMs * 8, baseMs * 16];
  const earlier = old.task.crashes === 0 ? 0 : (old.task.suspicion?.shared ?? 0);
  const shared = { not: earlier + 1, "on trial": earlier, alone: 0 }[counts];
  const since = crashes < 2 ? null : ((old.task.crashes > 1 ? old.task.suspicion?.since : null) ?? now);
  const isKnown = old.task.crashes > 0 && old.task.suspicion !== undefined;
  const isPlain = old.task.waiting || (counts === "alone" && !isKnown);
  const suspicion = isPlain ? {} : { suspicion: { shared, since, clearedAt: null } };
  const blamed = crashes - (old.task.waiting ? (old.task.suspicion?.shared ?? 0) : shared);
  const isOver = blamed >= maxCrashes;
  const pause = isOver ? 0 : Math.min(lengths[crashes] ?? Infinity, maxMs);
  const later =
    pause > 0 && left.runAfter === null
      ? { lane: null, waitsFor: "retry" as const, runAfter: now + pause }
      : {};
  const free = { ...letGo(left, now, "recovered"), owner: null };
  const attempts = lost(old.task, now, saidOf(counts, others));
  const next = changed(old, { task: { ...free, ...later, ...suspicion, attempts, crashes } });
  // One that is given up waits for nobody.
  return isOver && next.task.lane !== null ? { ...next, task: { ...next.task, lane: "recovered" } } : next;
}

/** Whether a crash counts against a task, and how many others worked there. */
export interface Guilt {
  readonly counts: "not" | "on trial" | "alone";
  readonly others: number;
}

function saidOf(counts: Guilt["counts"], others: number): string {
  if (others === 0) return "";
  const why = {
    not: "so this does not count against the task.",
    "on trial": "but no other that is suspected of ending processes, so this counts against the task.",
    alone: "but each of those has made progress since its last crash, so this counts against the task.",
  }[counts];
  return ` It ran ${others === 1 ? "another task" : `${others} other tasks`} too, ${why}`;
}

/** Progress clears a task, and so does an end of its own. */
function cleared(old: TaskRecord, next: TaskRecord, { outcome, now = 0 }: Effect): TaskRecord {
  const { suspicion, ...others } = next;
  if (suspicion === undefined || old.crashes === 0) return next;
  if (next.crashes > 0 && (outcome === undefined || outcome.kind === "error")) return next;
  const { since } = suspicion;
  return since === null ? others : { ...next, suspicion: { shared: 0, since, clearedAt: now } };
}

function inItsLane(task: TaskRecord): TaskRecord {
  return task.lane === "recovered" && task.crashes > 1 ? { ...task, lane: "suspect" } : task;
}

/** The task after an effect: one version on, its journal in the order of first writes. */
export function changed(old: ModelTask, does: Effect): ModelTask {
  const {
    task,
    entries = [],
    outcome,
    visibleUntil,
    forgets,
    drops,
    events = old.events,
    lines = old.lines,
  } = does;
  const { blocked: _, ...free } = old.task;
  // Half an artifact goes with the end of its task.
  const { pieces = old.pieces } = does;
  const isWhole = (key: string): boolean =>
    old.journal.every((entry) => entry.key !== key || entry.doneAt !== null);
  const kept = old.journal.filter(
    (entry) => !(forgets === true && hasFailed(entry)) && drops?.(entry) !== true,
  );
  const rewritten = kept.map((entry) => entries.find(({ key }) => key === entry.key) ?? entry);
  const added = entries.filter(({ key }) => !old.journal.some((entry) => entry.key === key));
  const next = { ...(does.goesOn ? free : old.task), ...task, version: old.task.version + 1 };
  // What does not run counts for no limit.
  const limited = next.limited && next.state === "running";
  return {
    ...old,
    task: inItsLane(
      cleared(old.task, withSweepAt({ ...next, limited }, visibleUntil, old.task.updatedAt), does),
    ),
    journal: [...rewritten, ...added],
    events,
    lines,
    pieces: next.finishedAt === null ? pieces : pieces.filter(({ key }) => isWhole(key)),
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

/** A step or a call; or a step that is to be tried again. */
export function hasFailed({ kind, error, doneAt }: JournalEntry): boolean {
  if (kind === "step" && doneAt === null) return true;
  return (kind === "step" || kind === "call" || kind === "artifact") && error !== null;
}

/** No attempt holds the task. */
const nobodys = { owner: null, token: null, lane: null, ...works };
