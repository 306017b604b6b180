import type { Request, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../runtime/clock.ts";
import { nextTurn } from "../runtime/next-turn.ts";
import type { UnreadableTasks } from "../runtime/unreadable-tasks.ts";
import type { TaskStore } from "../store/store.ts";
import { hasExpired } from "../task/expiry.ts";
import { HoldfastError, isUnreadable } from "../task/fault.ts";
import { errorOutcome } from "../task/outcome.ts";
import type { TaskRecord } from "../task/record.ts";
import { isSdkV1Task, token, type KeptRequest } from "./new-task.ts";

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

type Fate = "fail" | "keep";

interface TakeOverServices {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly unreadable: UnreadableTasks;
}

/** What happens to unfinished tasks when a server starts: one answer for all, or a function that decides for each. */
export type OnRestart = Fate | ((task: UnfinishedTask) => Fate | Promise<Fate>);

const pageSize = 500;

const message = "The server stopped while it worked on this task, and does not take it up again.";

/**
 * Decides about what an earlier process left. Only for records of servers on SDK v1: all others have handlers elsewhere.
 * Requests that wait in queues go first: the process that would know their answers is gone, and their JSON-RPC ids
 * would be those of other requests by now. Leaves tasks that have expired to the sweeper.
 */
export async function takeOver(services: TakeOverServices, onRestart: OnRestart): Promise<void> {
  const { store, clock } = services;
  await store.write({ type: "drop_bound_messages", now: clock.now() });
  for (let after = ""; ;) {
    const tasks = await store.unfinished(after, pageSize);
    const decided: (readonly [TaskRecord, Fate])[] = [];
    const now = clock.now();
    for (const task of tasks) {
      if (!isSdkV1Task(task) || hasExpired(task, now)) continue; // the sweeper ends what has expired
      decided.push([task, await fateOf(services, task, onRestart)]);
    }
    // Side by side, so that the store commits many of them at once.
    await Promise.all(
      decided.map(([task, fate]) => (fate === "keep" ? keep(store, clock, task) : fail(store, clock, task))),
    );
    const last = tasks.at(-1);
    if (last === undefined || tasks.length < pageSize) return;
    after = last.id;
    await nextTurn();
  }
}

/** A task whose request cannot be read is described to nobody: nobody could take it up. */
async function fateOf(services: TakeOverServices, task: TaskRecord, onRestart: OnRestart): Promise<Fate> {
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

function parsed(task: TaskRecord, json: string): KeptRequest {
  try {
    return JSON.parse(json) as KeptRequest;
  } catch (cause) {
    throw unreadable(task, "its request is not JSON", cause);
  }
}

function unreadable({ id }: TaskRecord, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}

/** Nobody waits for an answer any more, hence it works again; and it runs, should a runtime have taken it off. */
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
