/**
 * What a command does to a task: the one place that decides it, for every store.
 * - Pure: the result depends on the record, the command and what the store read for it.
 * - A command that the table of `transition.ts` does not allow is refused, and changes nothing.
 * - Each accepted change raises the version by one; a command that changes nothing leaves it.
 * - A settled or cancelled task never changes its state, outcome or status text again; earlier texts have ended with it.
 */

import { attemptsAfter } from "./attempts.ts";
import { blockedUntil, finish, settled, unblockedBy } from "./record-changes.ts";
import type { CommandBesideTasks } from "./bulk.ts";
import type { Refusal, TaskCommand, TaskCommandName } from "./command.ts";
import {
  parkedOr,
  isToWake,
  pausing,
  ready,
  resting,
  resumedToCancel,
  working,
  type Waiting,
} from "./queue.ts";
import { endsAt, storableExpiry } from "./expiry.ts";
import type { JournalEntry } from "./journal.ts";
import {
  journalChange,
  type JournalCommand,
  type Forgotten,
  type JournalFacts,
  type PieceChange,
} from "./journal-changes.ts";
import { isTerminal, type Loss, type Outcome } from "./outcome.ts";
import type { TaskRecord, Progress } from "./record.ts";
import { cancelledByCaller } from "./status-text.ts";
import { storable } from "./time.ts";
import { nextState, transitions, type TaskEvent } from "./transition.ts";
import type { LineList, TaskLine } from "./task-line.ts";
import { clearedBy, inOwnLane, reclaimed } from "./suspicion.ts";

/** Commands about several tasks, a new task, an ended task, or callers of a task. */
type OtherName =
  | "create"
  | "claim"
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
  | CommandBesideTasks;

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
        ? Omit<TaskCommand<N>, "owner" | "after" | "limit"> & { readonly id: string; readonly loss?: Loss }
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
  /** The record as it was: a store writes what differs. */
  readonly before: TaskRecord;
  readonly task: TaskRecord;
  /** Entries to insert, or to replace if the key exists. */
  readonly journal: readonly JournalEntry[];
  readonly forgets?: Forgotten;
  readonly outcome: Outcome | null;
  /** Lines to add to the task's log and output, and the numbers of log lines to remove. */
  readonly lines?: { readonly add: readonly TaskLine[]; readonly forget: readonly number[] };
  readonly pieces?: PieceChange;
}

type Effect = Omit<Decision, "before">;

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
  const decided = effect({ ...task, state, owner, limited, attempts }, command, circumstances);
  if (!decided.ok) return decided;
  const cleared = clearedBy(task, unblockedBy(command, decided.task), decided.outcome, command.now);
  const after = command.type === "reclaim" ? cleared : inOwnLane(cleared);
  if (!isTerminal(state) || (task.openArtifacts ?? 0) === 0) return { ...decided, task: after, before: task };
  return { ...decided, task: { ...after, openArtifacts: 0 }, pieces: { do: "drop_open" }, before: task };
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
  if (command.type === "orphan" && hasHandler === true) return "state";
  if (command.type === "wake" && !isToWake(task, command.until ?? now)) return "not_due";
  if (command.type === "unblock" && task.blocked === undefined) return "state";
  return undefined;
}

function isDue(at: number | null, now: number): boolean {
  return at !== null && at <= now;
}

function effect(task: TaskRecord, command: TaskChangeCommand, facts: JournalFacts): Effect | Refuse {
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
      return decision({ ...task, ...parkedOr(task, paused(command.until, now)), token: null });
    case "retry": {
      const { statusMessage } = command;
      const failures = task.failures + 1;
      // The handler may not know yet of a cancel that was requested meanwhile, so it runs again now.
      const until = task.cancelRequestedAt === null ? command.until : undefined;
      const given = { ...task, ...paused(until, now), token: null, failures, crashes: 0 };
      return { ...decision({ ...given, statusMessage, updatedAt: now }), forgets: "failures" };
    }
    case "block":
    case "orphan":
      return decision(blockedUntil(task, command));
    case "unblock":
      return decision({ ...task, ...ready("recovered", now) });
    case "park":
      // If an answer or event has arrived meanwhile, it has already woken the task.
      return decision({ ...task, ...parkedOr(task, ready("woken", now), false), token: null });
    case "wake":
      return decision({ ...task, ...ready(task.waiting ? "woken" : "recovered", now) });
    case "reclaim":
      return decision(reclaimed(task, command));
    case "mark":
      return decision({ ...task, ...resting(task, command.rest), journalled: !command.beforeHandler });
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
    case "expire":
      return decision(settled(task, command), [], command.outcome);
    case "request_cancel": {
      if (task.cancelRequestedAt !== null) return nothing(task);
      const cancelBy = earlier(task.cancelBy, command.cancelBy);
      const sweepAt = endsAt({ ...task, cancelBy });
      return decision({ ...task, ...resumedToCancel(task, now), cancelRequestedAt: now, cancelBy, sweepAt });
    }
    case "cancel": {
      // The sweeper's text says that the caller left, which is wrong for a requested cancel.
      const isRequested = command.scheduled === true && task.cancelRequestedAt !== null;
      const statusMessage = (isRequested ? undefined : command.statusMessage) ?? cancelledByCaller;
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
      if (change === undefined) return nothing(task);
      const { pieces, forgets } = change;
      return {
        ...decision(change.task, change.journal),
        ...(pieces && { pieces }),
        ...(forgets && { forgets }),
      };
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
    ...(changes.waiting !== undefined && {
      ...working,
      ...(changes.waiting && ({ waiting: true, waitsFor: "question" } as const)),
    }),
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

function decision(
  task: TaskRecord,
  journal: readonly JournalEntry[] = [],
  outcome: Outcome | null = null,
): Effect {
  return { ok: true, task: { ...task, version: task.version + 1 }, journal, outcome };
}

/** Accepted, with nothing to write: the version stays, and listeners are not called. */
function nothing(task: TaskRecord): Effect {
  return { ok: true, task, journal: [], outcome: null };
}

function refuse(reason: Refusal): Refuse {
  return { ok: false, reason };
}

/**
 * Who wants the result of a task, apart from requests with its id: callers without task support that wait for it (`awaitedBy`: the
 * processes where they wait), and callers that can come back (`promised`): they were told how, or came back with an id that was taken to
 * have never reached them. A dead process does not wait.
 *
 * | the task                                  | the same call                   | when the last caller cancels   | when its time is over    |
 * | ----------------------------------------- | ------------------------------- | ------------------------------ | ------------------------ |
 * | is awaited                                | creates another task            | it is cancelled                | it is, after the grace   |
 * | is awaited, and may be by several callers | joins                           | it is cancelled                | it is, after the grace   |
 * | is not awaited                            | joins                           |                                |                          |
 * | is promised                               | as above                        | it continues                   | it continues             |
 * | has ended and is awaited                  | waits until the result arrives, | nothing                        | nothing                  |
 * |                                           | or joins if it does not         |                                |                          |
 * | has an id that did not reach its caller   | creates another task            |                                | it is, unless a request  |
 * |                                           |                                 |                                | with its id came before  |
 *
 * All callers in one process count as one here; the process tells them apart itself.
 */
interface Callers {
  /** Owners at which callers wait, in order of their arrival. */
  readonly awaitedBy: readonly string[];
  readonly promised: boolean;
}

/** Other owners where callers wait: living ones, without the command's owner. */
type Others = readonly string[];

/** The task once a caller of `owner` waits: earlier callers that left no longer cancel it. */
export function withCaller(
  task: TaskRecord,
  { key, alone }: TaskCommand<"join">,
  owner: string,
  others: Others,
): TaskRecord | Refusal {
  if (key !== undefined && key !== task.idempotencyKey) return "state";
  if (others.length > 0 && (alone || isTerminal(task.state))) return "awaited";
  return unscheduled({ ...task, awaitedBy: [...others, owner] });
}

/** The task once all or some callers of `owner` have stopped waiting. */
export function withoutCallers(
  task: TaskRecord,
  { stays, promised, cancelBy }: TaskCommand<"leave">,
  owner: string,
  others: Others,
): TaskRecord {
  const awaitedBy = stays ? [...others, owner] : others;
  const now = { ...task, awaitedBy, promised: task.promised || promised };
  if (promised) return unscheduled(now);
  return cancelBy === null || isWanted(now, awaitedBy) ? now : scheduled(now, storable(cancelBy));
}

/** Whether the task is cancelled at its `cancelBy` unless its caller comes back, and not because somebody asked for it. */
export function isLeft({ cancelBy, cancelRequestedAt }: TaskRecord): boolean {
  return cancelBy !== null && cancelRequestedAt === null;
}

/** Whether the result is wanted; callers wait at `others`. */
export function isWanted({ promised }: Pick<Callers, "promised">, others: Others): boolean {
  return promised || others.length > 0;
}

/** Changes nothing after a cancel request, which cancels the task anyway. */
function scheduled(task: TaskRecord, cancelBy: number | null): TaskRecord {
  if (isTerminal(task.state) || task.cancelRequestedAt !== null) return task;
  return { ...task, cancelBy, sweepAt: endsAt({ ...task, cancelBy }) };
}

function unscheduled(task: TaskRecord): TaskRecord {
  return task.cancelBy === null ? task : scheduled(task, null);
}

/**
 * The report that is further; if both are equal, the newer one, whose total and message may differ. Branches of a handler report in
 * parallel, and a run after a crash starts over, but the progress that clients see must not go back.
 */
export function furthest(last: Progress | null, report: Progress): Progress {
  return last !== null && report.progress < last.progress ? last : report;
}
