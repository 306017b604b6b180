import type { Request, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../runtime/clock.ts";
import { nextTurn } from "../runtime/next-turn.ts";
import type { UnreadableTasks } from "../runtime/unreadable-tasks.ts";
import type { TaskStore } from "../store/store.ts";
import { hasExpired } from "../task/expiry.ts";
import { HoldfastError, isUnreadable } from "../task/fault.ts";
import { errorOutcome } from "../task/outcome.ts";
import type { TaskRecord } from "../task/record.ts";
import { isSdkV1Task, token, type StoredRequest } from "./task-commands.ts";

/** A task that the last process left unfinished. */
export interface UnfinishedTask {
  readonly taskId: string;
  /** The request that made it. */
  readonly request: Request;
  readonly requestId: RequestId;
  /** The session of that request; undefined if there is none. */
  readonly sessionId: string | undefined;
  /** What the server passed to `createTask`. */
  readonly context: Readonly<Record<string, unknown>> | undefined;
  readonly createdAt: Date;
}

type RestartDecision = "fail" | "keep";

interface TakeOverServices {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly unreadable: UnreadableTasks;
}

/** What happens to unfinished tasks when a server starts: one answer for all, or a function that decides for each. */
export type OnRestart =
  RestartDecision | ((task: UnfinishedTask) => RestartDecision | Promise<RestartDecision>);

const pageSize = 500;

const message = "The server stopped while it worked on this task, and does not take it up again.";

/**
 * Fails or keeps the tasks that an earlier process left unfinished, but only those of SDK v1 servers: a runtime
 * recovers all others. Expired tasks are left to the sweeper.
 */
export async function takeOver(services: TakeOverServices, onRestart: OnRestart): Promise<void> {
  const { store, clock } = services;
  for (let after = ""; ;) {
    const tasks = await store.unfinished(after, pageSize);
    const decided: (readonly [TaskRecord, RestartDecision])[] = [];
    const now = clock.now();
    for (const task of tasks) {
      if (!isSdkV1Task(task) || hasExpired(task, now)) continue;
      decided.push([task, await decide(services, task, onRestart)]);
    }
    // In parallel, so that the store commits many of them in one group.
    await Promise.all(
      decided.map(([task, decision]) =>
        decision === "keep" ? keep(store, clock, task) : fail(store, clock, task),
      ),
    );
    const last = tasks.at(-1);
    if (last === undefined || tasks.length < pageSize) return;
    after = last.id;
    await nextTurn();
  }
}

/** A task whose request cannot be read fails without asking `onRestart`: nobody could resume it. */
async function decide(
  services: TakeOverServices,
  task: TaskRecord,
  onRestart: OnRestart,
): Promise<RestartDecision> {
  if (typeof onRestart === "string") return onRestart;
  let unfinished: UnfinishedTask;
  try {
    unfinished = await describe(services.store, task);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    services.unreadable.report(task.id, error);
    return "fail";
  }
  return onRestart(unfinished);
}

async function describe(store: TaskStore, task: TaskRecord): Promise<UnfinishedTask> {
  const kept = await store.request(task.id);
  if (kept === undefined) throw unreadable(task, "it has no request");
  const { request, context } = parsed(task, kept.arguments);
  return {
    taskId: task.id,
    request,
    requestId: kept.origin.requestId ?? "",
    sessionId: kept.origin.session,
    context,
    createdAt: new Date(task.createdAt),
  };
}

function parsed(task: TaskRecord, json: string): StoredRequest {
  try {
    return JSON.parse(json) as StoredRequest;
  } catch (cause) {
    throw unreadable(task, "its request is not JSON", cause);
  }
}

function unreadable({ id }: TaskRecord, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}

/**
 * Starts the task again if a runtime had put it back into the queue. It is `working` again: its questions are lost.
 */
async function keep(store: TaskStore, clock: Clock, { id, state, waiting }: TaskRecord): Promise<void> {
  const now = clock.now();
  if (state === "queued") await store.write({ type: "start", now, id, token });
  if (waiting) await store.write({ type: "update", now, id, token, changes: { waiting: false } });
}

async function fail(store: TaskStore, clock: Clock, { id, state }: TaskRecord): Promise<void> {
  const end = {
    now: clock.now(),
    id,
    outcome: errorOutcome({ code: -32603, message }),
    statusMessage: message,
  };
  await store.write(state === "queued" ? { type: "fail", ...end } : { type: "settle", token, ...end });
}
