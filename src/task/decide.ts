import { attemptsAfter } from "./attempts.ts";
import { isWanted } from "./callers.ts";
import type { Refusal } from "./command-result.ts";
import type { TaskCommand, TaskCommandName } from "./command.ts";
import type { DeliveryCommands } from "./delivery-command.ts";
import { crashPause } from "./crash-backoff.ts";
import { endsAt, storableExpiry } from "./expiry.ts";
import type { JournalEntry } from "./journal.ts";
import { journalChange, type JournalCommand, type JournalFacts } from "./journal-changes.ts";
import type { Outcome } from "./outcome.ts";
import { furthest } from "./progress.ts";
import type { TaskRecord } from "./record.ts";
import { isTerminal } from "./status.ts";
import { storable } from "./time.ts";
import { nextState, transitions, type TaskEvent } from "./transition.ts";
import type { LineList, TaskLine } from "./task-line.ts";
import { deletableAt } from "./ttl.ts";
import { givenBack, isToWake, pausing, ready, resting, roused, working, type Waiting } from "./waiting.ts";

/** Commands about several tasks, a new task, an ended task, or callers of a task. */
type OtherName =
  | "create"
  | "claim"
  | "join"
  | "leave"
  | "delete_expired"
  | "release_key"
  | "extend"
  | "pause_tool"
  | "resume_tool"
  | "delete"
  | "keep_secret"
  | keyof DeliveryCommands;

/** Commands about one existing task, except those about its journal. */
type TaskChangeName = Exclude<TaskCommandName, OtherName | JournalCommand["type"]>;

/** Questions of tasks below a root were asked, or have ended. */
interface CountInputs {
  readonly type: "count_inputs";
  readonly now: number;
  readonly id: string;
  readonly by: number;
}

/** A change of one existing task. */
export type TaskChangeCommand =
  | JournalCommand
  | CountInputs
  | {
      [N in TaskChangeName]: N extends "reclaim"
        ? Omit<TaskCommand<N>, "owner" | "after" | "limit"> & { readonly id: string }
        : N extends "wake"
          ? Omit<TaskCommand<N>, "limit"> & { readonly id: string }
          : TaskCommand<N>;
    }[TaskChangeName];

/** What a decision depends on besides the record. */
export interface Circumstances extends JournalFacts {
  /** The process that sends the command. */
  readonly owner: string;
  /** Whether a living owner has a handler for the task. */
  readonly hasHandler?: boolean;
  /** Other living owners whose callers wait for the task. */
  readonly awaitedBy?: readonly string[];
}

/** What a store must write, all or nothing. */
export interface Decision {
  readonly ok: true;
  readonly task: TaskRecord;
  /** Entries to insert, or to replace if the key exists. */
  readonly journal: readonly JournalEntry[];
  /** Entries to remove: failed steps and calls, and steps that wait for a retry. */
  readonly forgets?: "failures";
  readonly outcome: Outcome | null;
  /** Lines to add to the task's log and output, and the numbers of log lines to remove. */
  readonly lines?: { readonly add: readonly TaskLine[]; readonly forget: readonly number[] };
}

type Refuse = { readonly ok: false; readonly reason: Refusal };

/**
 * What a command does to a task, or why it does nothing. Every store calls this inside the transaction that writes the result, so that all
 * stores follow the same table.
 */
export function decide(
  task: TaskRecord | undefined,
  command: TaskChangeCommand,
  circumstances: Circumstances,
): Decision | Refuse {
  if (task === undefined) return refuse("unknown");
  const refusal = guard(task, command, circumstances);
  if (refusal !== undefined) return refuse(refusal);
  const state = nextState(task.state, command.type) ?? task.state;
  const owner = ownerAfter(task, command.type, circumstances.owner);
  const limited = task.limited && state === "running";
  const attempts = attemptsAfter(task, command, circumstances.owner);
  return effect({ ...task, state, owner, limited, attempts }, command, circumstances);
}

function ownerAfter(task: TaskRecord, event: TaskEvent, causer: string): string | null {
  const { owner } = transitions[event];
  return { causer, nobody: null, same: task.owner }[owner];
}

function guard(
  task: TaskRecord,
  command: TaskChangeCommand,
  { hasHandler, awaitedBy = [] }: Circumstances,
): Refusal | undefined {
  const event: TaskEvent = command.type;
  const { now } = command;
  if (nextState(task.state, event) === undefined) {
    if (isTerminal(task.state)) return "finished";
    return transitions[event].underToken ? "fenced" : "state";
  }
  if ("token" in command && transitions[event].underToken && command.token !== task.token) return "fenced";
  const isToCancel = isDue(task.cancelBy, now);
  if (command.type === "expire" && (isToCancel || !isDue(task.sweepAt, now))) return "not_due";
  if (command.type === "cancel" && command.scheduled === true && !isToCancel) return "not_due";
  if (command.type === "cancel" && command.unlessWanted === true && isWanted(task, awaitedBy))
    return "awaited";
  if (command.type === "fail" && command.orphaned === true && hasHandler === true) return "state";
  if (command.type === "wake" && !isToWake(task, now)) return "not_due";
  return undefined;
}

function isDue(at: number | null, now: number): boolean {
  return at !== null && at <= now;
}

function effect(task: TaskRecord, command: TaskChangeCommand, facts: JournalFacts): Decision | Refuse {
  const { now } = command;
  switch (command.type) {
    case "start":
      return decision({
        ...task,
        ...working,
        limited: command.limited === true,
        token: command.token,
        attempt: task.attempt + 1,
        toolVersion: task.attempt === 0 ? (command.version ?? null) : task.toolVersion,
        startedAt: task.startedAt ?? now,
      });
    case "release":
      // An attempt that releases its task until a later time already knows of a cancel request, so the pause is kept.
      return decision({ ...task, ...givenBack(task, paused(command.until, now)), token: null });
    case "retry": {
      const { statusMessage } = command;
      const failures = task.failures + 1;
      // The handler may not know yet of a cancel that was requested meanwhile, so it runs again now.
      const until = task.cancelRequestedAt === null ? command.until : undefined;
      const given = { ...task, ...paused(until, now), token: null, failures, crashes: 0 };
      return { ...decision({ ...given, statusMessage, updatedAt: now }), forgets: "failures" };
    }
    case "park":
      // If an answer or event has arrived meanwhile, it has already woken the task.
      return decision({ ...task, ...givenBack(task, ready("woken", now)), token: null });
    case "wake":
      return decision({ ...task, ...ready(task.waiting ? "woken" : "recovered", now) });
    case "reclaim": {
      const crashes = task.crashes + (task.waiting ? 0 : 1);
      const pause = crashPause(crashes, command.backoff);
      const otherwise = pause === 0 ? ready("recovered", now) : pausing(now + pause);
      return decision({ ...task, ...givenBack(task, otherwise), token: null, crashes });
    }
    case "mark":
      return decision({ ...task, ...resting(task, command.rest), journalled: true });
    case "update":
      return isBehind(task, command) ? nothing(task) : decision(withChanges(task, command));
    case "append": {
      const { lines: add, forget } = command;
      const logged = lastOf("log", add, task.logged);
      const outputs = lastOf("output", add, task.outputs);
      return { ...decision({ ...task, logged, outputs }), lines: { add, forget } };
    }
    case "settle":
    case "fail":
      return decision(settled(task, command), [], command.outcome);
    case "expire": {
      const finished = settled(task, command);
      // A task that reached the limit on its run, but not its ttl, is kept as long as other finished tasks.
      const sweepAt =
        finished.sweepAt === null ? null : Math.max(finished.sweepAt, storable(command.visibleUntil));
      return decision({ ...finished, sweepAt }, [], command.outcome);
    }
    case "request_cancel": {
      if (task.cancelRequestedAt !== null) return nothing(task);
      const cancelBy = earlier(task.cancelBy, command.cancelBy);
      const sweepAt = endsAt({ ...task, cancelBy });
      return decision({ ...task, ...roused(task, now), cancelRequestedAt: now, cancelBy, sweepAt });
    }
    case "cancel": {
      // The sweeper's text says that the caller left, which is wrong for a requested cancel.
      const isRequested = command.scheduled === true && task.cancelRequestedAt !== null;
      const statusMessage = (isRequested ? undefined : command.statusMessage) ?? task.statusMessage;
      const cancelRequestedAt = task.cancelRequestedAt ?? now;
      return decision(finish({ ...task, statusMessage, cancelRequestedAt }, now));
    }
    case "count_inputs": {
      const { by } = command;
      const openInputs = task.openInputs + by;
      return decision({ ...task, openInputs, childInputs: task.childInputs + by, updatedAt: now });
    }
    default: {
      const change = journalChange(task, command, facts);
      if (typeof change === "string") return refuse(change);
      return change === undefined ? nothing(task) : decision(change.task, change.journal);
    }
  }
}

function lastOf(list: LineList, lines: readonly TaskLine[], before: number): number {
  return lines.reduce((last, line) => (line.list === list ? Math.max(last, line.seq) : last), before);
}

function paused(until: number | undefined, now: number): Waiting {
  return until === undefined ? ready("recovered", now) : pausing(until);
}

function earlier(cancelBy: number | null, requested: number | undefined): number | null {
  if (requested === undefined) return cancelBy;
  return Math.min(storable(requested), cancelBy ?? Infinity);
}

function withChanges(task: TaskRecord, { changes, now }: TaskCommand<"update">): TaskRecord {
  const expiry = changes.expiry === undefined ? task.expiry : storableExpiry(changes.expiry);
  return {
    ...task,
    statusMessage: changes.statusMessage === undefined ? task.statusMessage : changes.statusMessage,
    pollIntervalMs: storable(changes.pollIntervalMs ?? task.pollIntervalMs),
    progress: changes.progress === undefined ? task.progress : furthest(task.progress, changes.progress),
    // A wait outside the journal must not get the task parked, since nothing would wake it.
    ...(changes.waiting !== undefined && { ...working, waiting: changes.waiting }),
    expiry,
    sweepAt: endsAt({ ...task, expiry }),
    updatedAt: now,
  };
}

/** True for a progress report that is behind the last one and contains nothing else. */
function isBehind({ progress }: TaskRecord, { changes }: TaskCommand<"update">): boolean {
  const { progress: report, ...others } = changes;
  if (report === undefined || furthest(progress, report) === report) return false;
  return Object.values(others).every((change) => change === undefined);
}

function settled(
  task: TaskRecord,
  { outcome, statusMessage, now }: TaskCommand<"settle" | "fail" | "expire">,
): TaskRecord {
  const told = { ...task, statusMessage: statusMessage ?? task.statusMessage };
  return { ...finish(told, now), outcomeKind: outcome.kind };
}

function finish(task: TaskRecord, now: number): TaskRecord {
  return {
    ...task,
    ...working,
    token: null,
    openInputs: 0,
    childInputs: 0,
    openWaits: 0,
    cancelBy: null,
    finishedAt: now,
    updatedAt: now,
    sweepAt: deletableAt(task, now),
  };
}

function decision(
  task: TaskRecord,
  journal: readonly JournalEntry[] = [],
  outcome: Outcome | null = null,
): Decision {
  return { ok: true, task: { ...task, version: task.version + 1 }, journal, outcome };
}

/** Accepted, with nothing to write: the version stays, and listeners are not called. */
function nothing(task: TaskRecord): Decision {
  return { ok: true, task, journal: [], outcome: null };
}

function refuse(reason: Refusal): Refuse {
  return { ok: false, reason };
}
