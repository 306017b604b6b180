import { isWanted } from "./callers.ts";
import type { Refusal, TaskCommand, TaskCommandName } from "./command.ts";
import { crashPause } from "./crash-backoff.ts";
import { endsAt, storableExpiry } from "./expiry.ts";
import type { JournalEntry } from "./journal.ts";
import { lasting, takeAnswers } from "./lasting-entries.ts";
import type { Outcome } from "./outcome.ts";
import { furthest } from "./progress.ts";
import type { TaskRecord } from "./record.ts";
import { isTerminal } from "./status.ts";
import { storable } from "./time.ts";
import { nextState, transitions, type TaskEvent } from "./transition.ts";
import { deletableAt } from "./ttl.ts";
import { givenBack, isToWake, pausing, ready, resting, stirred, working } from "./waiting.ts";

/** Commands about several tasks, about a new one, about one that has ended, or about its callers. */
type OtherName =
  "create" | "claim" | "join" | "leave" | "delete_expired" | "release_key" | "delete" | "keep_secret";

/** Commands about one existing task. */
export type TaskChangeName = Exclude<TaskCommandName, OtherName>;

export type TaskChangeCommand = {
  [N in TaskChangeName]: N extends "reclaim"
    ? Omit<TaskCommand<N>, "owner" | "after" | "limit"> & { readonly id: string }
    : N extends "wake"
      ? Omit<TaskCommand<N>, "limit"> & { readonly id: string }
      : TaskCommand<N>;
}[TaskChangeName];

/** What a decision depends on beside the record. */
export interface Circumstances {
  /** The process that gives the command. */
  readonly owner: string;
  /** Looks up one journal entry of the task. */
  readonly entry: (key: string) => JournalEntry | undefined;
  /** Whether a living owner has a handler for the task. */
  readonly hasHandler?: boolean;
  /** Other owners that live and have callers that wait for the task. */
  readonly awaitedBy?: readonly string[];
}

/** What a store has to write, all of it or nothing. */
export interface Decision {
  readonly ok: true;
  readonly task: TaskRecord;
  /** Entries to insert, or to replace where the key exists. */
  readonly journal: readonly JournalEntry[];
  readonly outcome: Outcome | null;
}

/** What an entry of any kind has, unless it says otherwise. */
const blank = {
  method: null,
  request: null,
  requestHash: null,
  value: null,
  error: null,
  deadlineAt: null,
  doneAt: null,
  doneVersion: null,
} as const;

type Refuse = { readonly ok: false; readonly reason: Refusal };

/**
 * What a command does to a task, or why it does nothing. Every store asks here, inside the transaction that
 * writes the answer, so that all of them follow one table.
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
  return effect({ ...task, state, owner, limited }, command, circumstances.entry);
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

function effect(
  task: TaskRecord,
  command: TaskChangeCommand,
  entry: Circumstances["entry"],
): Decision | Refuse {
  const { now } = command;
  const done = { doneAt: now, doneVersion: task.version + 1 };
  switch (command.type) {
    case "start":
      return decision({
        ...task,
        ...working,
        limited: command.limited === true,
        token: command.token,
        attempt: task.attempt + 1,
        startedAt: task.startedAt ?? now,
      });
    case "release":
      return decision({ ...task, ...givenBack(task, ready("recovered", now)), token: null });
    case "park":
      // What has come for it meanwhile has woken it.
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
    case "record_step":
      if (entry(command.key) !== undefined) return refuse("duplicate");
      return decision({ ...task, ...working, journalled: !command.beforeHandler, crashes: 0 }, [
        { ...blank, key: command.key, kind: "step", value: command.value, error: command.error, ...done },
      ]);
    case "open_input": {
      if (entry(command.input.key) !== undefined) return refuse("duplicate");
      const asking = { ...task, openInputs: task.openInputs + 1 };
      return decision(
        { ...asking, ...resting(asking, command.rest), journalled: true, crashes: 0, updatedAt: now },
        [
          {
            ...blank,
            key: command.input.key,
            kind: "input",
            method: command.input.method,
            request: command.input.params,
            requestHash: command.requestHash,
            deadlineAt: command.deadlineAt === null ? null : storable(command.deadlineAt),
          },
        ],
      );
    }
    case "close_input": {
      const open = lasting("input", entry(command.key));
      if (open === undefined) return refuse("state");
      const openInputs = task.openInputs - 1;
      return decision({ ...task, ...working, openInputs, crashes: 0, updatedAt: now }, [
        { ...open, error: command.error, ...done },
      ]);
    }
    case "sleep":
      if (entry(command.key) !== undefined) return refuse("duplicate");
      return decision({ ...task, ...resting(task, command.rest), journalled: true, crashes: 0 }, [
        { ...blank, key: command.key, kind: "sleep", deadlineAt: storable(command.until) },
      ]);
    case "end_sleep": {
      const asleep = lasting("sleep", entry(command.key));
      if (asleep === undefined) return refuse("state");
      return decision({ ...task, ...working, crashes: 0 }, [{ ...asleep, ...done }]);
    }
    case "answer_inputs": {
      const answered = takeAnswers(command, entry).map((answer) => ({ ...answer, ...done }));
      if (answered.length === 0) return nothing(task);
      const openInputs = task.openInputs - answered.length;
      return decision({ ...task, ...stirred(task, now), openInputs, crashes: 0, updatedAt: now }, answered);
    }
    case "update":
      return isBehind(task, command) ? nothing(task) : decision(withChanges(task, command));
    case "settle":
    case "fail":
      return decision(settled(task, command), [], command.outcome);
    case "expire": {
      const finished = settled(task, command);
      // What outlived a limit on its run, and not its ttl, is kept as long as any other finished task.
      const sweepAt =
        finished.sweepAt === null ? null : Math.max(finished.sweepAt, storable(command.visibleUntil));
      return decision({ ...finished, sweepAt }, [], command.outcome);
    }
    case "request_cancel": {
      if (task.cancelRequestedAt !== null) return nothing(task);
      const cancelBy = earlier(task.cancelBy, command.cancelBy);
      const sweepAt = endsAt({ ...task, cancelBy });
      return decision({ ...task, ...stirred(task, now), cancelRequestedAt: now, cancelBy, sweepAt });
    }
    case "cancel": {
      // What a sweeper says of a caller that left is not true of one that asked to cancel.
      const isRequested = command.scheduled === true && task.cancelRequestedAt !== null;
      const statusMessage = (isRequested ? undefined : command.statusMessage) ?? task.statusMessage;
      const cancelRequestedAt = task.cancelRequestedAt ?? now;
      return decision(finish({ ...task, statusMessage, cancelRequestedAt }, now));
    }
  }
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
    // What is not in the journal wakes no task that is parked.
    ...(changes.waiting !== undefined && { ...working, waiting: changes.waiting }),
    expiry,
    sweepAt: endsAt({ ...task, expiry }),
    updatedAt: now,
  };
}

/** True for a report of progress that is behind the last one, and for nothing else besides. */
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

/** Accepted, with nothing to write: the version stays, and nobody is told. */
function nothing(task: TaskRecord): Decision {
  return { ok: true, task, journal: [], outcome: null };
}

function refuse(reason: Refusal): Refuse {
  return { ok: false, reason };
}
