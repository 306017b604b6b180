import type { Request, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../runtime/clock.ts";
import type { Sweeper } from "../runtime/dispatch/sweeper.ts";
import { nextTurn } from "../runtime/wait-for.ts";
import type { UnreadableTasks } from "../runtime/observed-store.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError, isUnreadable } from "../task/fault.ts";
import { errorOutcome, isTerminal } from "../task/outcome.ts";
import { endingOf } from "../task/status-text.ts";
import type { TaskRecord } from "../task/record.ts";
import { isSdkV1Handler, isSdkV1Task, token, type StoredRequest } from "./task-commands.ts";

/** A task that a lost process left unfinished. */
export interface UnfinishedTask {
  readonly taskId: string;
  /** The request that created it. */
  readonly request: Request;
  readonly requestId: RequestId;
  /** The session of that request; undefined if there is none. */
  readonly sessionId: string | undefined;
  /** What the server passed to `createTask`. */
  readonly context: Readonly<Record<string, unknown>> | undefined;
  readonly createdAt: Date;
}

type RestartDecision = "fail" | "keep";

export interface TakeOverServices {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly sweeper: Pick<Sweeper, "ended">;
  readonly unreadable: UnreadableTasks;
}

/** What happens to unfinished tasks of lost processes: one answer for all, or a function that decides for each. */
export type OnRestart =
  RestartDecision | ((task: UnfinishedTask) => RestartDecision | Promise<RestartDecision>);

const pageSize = 500;

const message = "The server stopped while it was working on this task, and does not resume it.";

/** Tasks that this process has taken, with the decision for each once it is known. */
export type TakenTasks = Map<TaskRecord, RestartDecision | undefined>;

/**
 * Fails or keeps the tasks of SDK v1 servers whose process is gone. Each task is taken first, so that only one of several processes
 * decides; if that process dies, the next can take it. Expired tasks end as expired. If the store fails, tasks can stay in `taken` for the
 * next call.
 */
export async function takeOver(
  services: TakeOverServices,
  onRestart: OnRestart,
  taken: TakenTasks,
): Promise<void> {
  const { store } = services;
  await decideAll(services, taken, onRestart);
  const lost = await store.orphanedHandlers();
  for (const handler of lost.filter(isSdkV1Handler)) {
    for (let after: string | undefined = ""; after !== undefined;) {
      const ids: readonly string[] = await store.queued(handler, { after, limit: pageSize, blocked: false });
      // In parallel, so that the store commits many in one group.
      await Promise.all(ids.map((id) => take(services, id, taken)));
      after = ids.length === pageSize ? ids.at(-1) : undefined;
      await decideAll(services, taken, onRestart);
      await nextTurn();
    }
  }
}

/** Takes and holds the task, unless another process was faster, or it has expired. */
async function take(services: TakeOverServices, id: string, taken: TakenTasks): Promise<void> {
  const { store, clock, sweeper, unreadable } = services;
  try {
    const found = await store.get(id);
    if (found === undefined || !isSdkV1Task(found)) return;
    const task = await sweeper.ended(found);
    if (isTerminal(task.state)) return;
    const started = await store.write({ type: "start", now: clock.now(), id, token });
    if (started.ok) taken.set(started.task, undefined);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    unreadable.report(id, error);
  }
}

/** Decides task by task, and fails those that must fail at once. */
async function decideAll(services: TakeOverServices, taken: TakenTasks, onRestart: OnRestart): Promise<void> {
  for (const [task, decision] of taken) {
    if (decision === undefined) taken.set(task, await decide(services, task, onRestart));
  }
  await Promise.all(
    Array.from(taken, async ([task, decision]) => {
      if (decision === "fail") await fail(services, task);
      taken.delete(task);
    }),
  );
}

/** A task whose request cannot be read fails without asking `onRestart`: it could not be resumed. */
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
  return askOnRestart(onRestart, unfinished);
}

/** Throws `invalid_params` for an answer that is none. */
export async function askOnRestart(
  onRestart: Exclude<OnRestart, string>,
  task: UnfinishedTask,
): Promise<RestartDecision> {
  const decision = await onRestart(task);
  if (isRestartDecision(decision)) return decision;
  throw new HoldfastError(
    "invalid_params",
    `onRestart returned ${JSON.stringify(decision)} for task ${task.taskId}. It must return "fail" or "keep".`,
  );
}

export function isRestartDecision(value: unknown): value is RestartDecision {
  return value === "fail" || value === "keep";
}

async function describe(store: TaskStore, task: TaskRecord): Promise<UnfinishedTask> {
  const kept = await store.request(task.id);
  if (kept === undefined) throw cannotRead(task, "its request is missing");
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
    throw cannotRead(task, "its request is not JSON", cause);
  }
}

function cannotRead({ id }: TaskRecord, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}

async function fail({ store, clock }: TakeOverServices, { id }: TaskRecord): Promise<void> {
  const ending = endingOf(errorOutcome({ code: -32603, message }));
  await store.write({ type: "settle", now: clock.now(), id, token, ...ending });
}
