import type { TaskStore } from "../../store/store.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { OfTask, EventError, ServerEventData } from "./server-event.ts";
import { type ServerEvents, storedEventError } from "./server-events.ts";
import type { Blocked } from "../../task/blocked.ts";
import { isLeft } from "../../task/decide.ts";
import type { TaskRecord } from "../../task/record.ts";
import { latestTime } from "../../task/time.ts";

/** Emits the events of a write that the store has answered. Every change of a task is a command, so no event is missed here. */
export function emitEventsOf(command: TaskCommand, result: CommandResult, events: ServerEvents): void {
  const thrown = "token" in command && command.token !== null ? events.thrownUnder(command.token) : undefined;
  for (const event of eventsOf(command, result, thrown)) events.emit(event);
}

/** Deletes a task, which is read before, and emits the event. */
export async function deleteWithEvent(
  store: Pick<TaskStore, "write" | "get">,
  command: TaskCommand<"delete">,
  events: ServerEvents,
): Promise<CommandResult> {
  const deleted = await subjectOf(store, command.id);
  const result = await store.write<"delete">(command);
  if (deleted !== undefined && result.ok) events.emit({ type: "task.deleted", ...deleted });
  return result;
}

/** The owner of a task to be deleted; undefined for one that cannot be read, which the deletion itself reports. */
async function subjectOf(store: Pick<TaskStore, "get">, id: string): Promise<OfTask | undefined> {
  try {
    const task = await store.get(id);
    return task && subject(task);
  } catch {
    return undefined;
  }
}

/**
 * The events of a command that the store has applied. `thrown` is what the handler threw, if the command stores that end. Pure, and covers
 * every command that emits events, so that events match commits.
 */
export function eventsOf(
  command: TaskCommand,
  result: CommandResult,
  thrown?: EventError,
): readonly ServerEventData[] {
  if (!result.ok) return [];
  if ("tasks" in result) return result.tasks.map((task) => started(task, command.now));
  if (command.type === "reclaim") {
    const tasks = "reclaimed" in result ? result.reclaimed : 0;
    return tasks === 0 ? [] : [{ type: "owner.lost", owner: command.owner, tasks }];
  }
  return "task" in result ? ofTask(command, result, thrown) : [];
}

type Changed = Extract<CommandResult, { readonly task: TaskRecord }>;

function ofTask(command: TaskCommand, result: Changed, thrown?: EventError): readonly ServerEventData[] {
  const { now } = command;
  const { task } = result;
  const of = subject(task);
  switch (command.type) {
    case "create": {
      if ("created" in result && !result.created) return [];
      const created = { type: "task.created", ...of } as const;
      return command.token === null ? [created] : [{ ...created, attempt: 0 }, started(task, now)];
    }
    case "call_tool": {
      const { id: taskId, tool, principal, generation } = command.child;
      const child = { taskId, tool, principal, generation, attempt: 0, parentId: task.id };
      return [{ type: "task.created", ...child }];
    }
    case "start":
      return [started(task, now)];
    case "record_step": {
      if (command.beforeHandler === true) return []; // no step of the author's
      const { key, error } = command;
      const step = { type: "task.step", ...of, key, ...stepTime(command) } as const;
      if (error === null) return [{ ...step, outcome: "done" }];
      return [{ ...step, outcome: "failed", error: storedEventError(error) }];
    }
    case "retry_step": {
      const { key, tries, until } = command;
      if (command.error === null) return []; // a poll may look a million times
      const error = storedEventError(command.error);
      return [
        { type: "task.step", ...of, key, outcome: "retried", ...stepTime(command), tries, until, error },
      ];
    }
    case "open_input":
      return [{ type: "task.question", ...of, key: command.input.key, method: command.input.method }];
    case "answer_inputs": {
      const keys = "accepted" in result ? result.accepted : [];
      return keys.length === 0 ? [] : [{ type: "task.answered", ...of, keys }];
    }
    case "retry": {
      const { until, statusMessage } = command;
      const error = thrown ?? { name: "Error", message: statusMessage };
      return [{ type: "task.retried", ...of, failures: task.failures, until, error }];
    }
    case "park":
      return [{ type: "task.parked", ...of, until: task.runAfter === latestTime ? null : task.runAfter }];
    case "block":
    case "orphan":
      return task.blocked === undefined ? [] : [blocked(task, task.blocked, command.until)];
    case "release":
      return [{ type: "task.released", ...of }];
    case "settle":
    case "fail": {
      const { outcome, statusMessage } = command;
      const end = { type: "task.settled", ...of, durationMs: now - task.createdAt } as const;
      const error = thrown ?? (outcome.kind === "error" ? failure(statusMessage) : undefined);
      return [{ ...end, outcome: outcome.kind, ...(error && { error }) }];
    }
    case "expire":
      return [{ type: "task.expired", ...of, durationMs: now - task.createdAt }];
    case "request_cancel":
      // Of a request that was repeated nothing came.
      return task.cancelRequestedAt === now ? [{ type: "task.cancel_requested", ...of }] : [];
    case "leave": {
      const { cancelBy } = command;
      const isAbandoned = task.generation !== "plain" && cancelBy !== null && task.cancelBy === cancelBy;
      return isAbandoned && isLeft(task) ? [{ type: "task.abandoned", ...of, until: cancelBy }] : [];
    }
    case "retrieve":
      return [{ type: "task.retrieved", ...of, via: command.via }];
    case "cancel":
      return [{ type: "task.cancelled", ...of, durationMs: now - task.createdAt }];
    default:
      return [];
  }
}

/** The task that an event is about. */
export function subject({ id, tool, principal, generation, attempt, parent }: TaskRecord): OfTask {
  const above = parent === null ? {} : { parentId: parent.id };
  return { taskId: id, tool, principal, generation, attempt, ...above };
}

function started(task: TaskRecord, now: number): ServerEventData {
  const resumed = task.attempt > 1;
  const queued = resumed ? {} : { queuedMs: now - task.createdAt };
  return { type: "task.started", ...subject(task), resumed, ...queued, crashes: task.crashes };
}

function blocked(task: TaskRecord, block: Blocked, until: number): ServerEventData {
  const { reason, key, version, deploy, tries, since } = block;
  const met = { ...(version !== null && { version }), ...(deploy !== null && { deploy }) };
  return {
    type: "task.blocked",
    ...subject(task),
    reason,
    ...(key !== null && { key }),
    ...met,
    tries,
    since,
    until,
  };
}

function stepTime(command: TaskCommand<"record_step" | "retry_step">): { readonly durationMs?: number } {
  const { now, begunAt } = command;
  return begunAt === undefined ? {} : { durationMs: now - begunAt };
}

function failure(message = "The task failed."): EventError {
  return { name: "Error", message };
}
