import type { Request, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../runtime/clock.ts";
import type { TaskStore } from "../store/store.ts";
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

/** What happens to unfinished tasks when a server starts: one answer for all, or a function that decides for each. */
export type OnRestart = Fate | ((task: UnfinishedTask) => Fate | Promise<Fate>);

const pageSize = 500;

const message = "The server stopped while it worked on this task, and does not take it up again.";

/**
 * Decides about what an earlier process left. Only for records of servers on SDK v1: all others have handlers elsewhere.
 * Requests that wait in queues go first: the process that would know their answers is gone, and their JSON-RPC ids
 * would be those of other requests by now.
 */
export async function takeOver(store: TaskStore, clock: Clock, onRestart: OnRestart): Promise<void> {
  await store.write({ type: "drop_bound_messages", now: clock.now() });
  for (let after = ""; ;) {
    const tasks = await store.unfinished(after, pageSize);
    const decided: (readonly [TaskRecord, Fate])[] = [];
    for (const task of tasks.filter(isSdkV1Task)) {
      const fate = typeof onRestart === "string" ? onRestart : await onRestart(await describe(store, task));
      decided.push([task, fate]);
    }
    // Side by side, so that the store commits many of them at once.
    await Promise.all(
      decided.map(([task, fate]) => (fate === "keep" ? keep(store, clock, task) : fail(store, clock, task))),
    );
    const last = tasks.at(-1);
    if (last === undefined || tasks.length < pageSize) return;
    after = last.id;
  }
}

async function describe(store: TaskStore, task: TaskRecord): Promise<UnfinishedTask> {
  const kept = await store.request(task.id);
  const { request, context } = JSON.parse(kept?.arguments ?? "{}") as KeptRequest;
  return {
    taskId: task.id,
    request,
    requestId: kept?.origin.requestId ?? "",
    sessionId: kept?.origin.session,
    context,
    createdAt: new Date(task.createdAt),
  };
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
