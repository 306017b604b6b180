import type { JsonObject } from "../../generation/message.ts";
import { generation, relatedTaskOf } from "../../generation/sep-1686.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask, unknownTask } from "../../task/fault.ts";
import { scopeOf } from "../plain/plain-call.ts";
import type { TaskSession } from "../sessions/task-session.ts";

/** A connection whose client can have tasks of SEP-1686. */
export interface SepSession extends TaskSession {
  /** The scope in which the client's ids are unique: its principal, else its session. */
  readonly scope: string;
  /** Cancels that are not stored yet. Later requests on this connection wait for them (S-063). */
  readonly cancels: Set<Promise<void>>;
}

/** Undefined for a client without principal and session: others could use the ids that it chooses, so it has no tasks (S-009). */
export function sepSessionOf(
  session: Omit<TaskSession, "requestor" | "find" | "scope">,
): SepSession | undefined {
  const { principal, streams } = session.connection;
  const scope = scopeOf({ principal, session: streams.sessionKey });
  if (scope === undefined) return undefined;
  const find = (name: string): Promise<string> => ownTask(session.runtime, scope, name);
  return { ...session, find, scope, requestor: { generation, principal }, cancels: new Set() };
}

/** Rejects with `unknown_task`, for another's too. */
async function ownTask(runtime: Runtime, scope: string, wireId: string): Promise<string> {
  const id = await runtime.find({ generation, scope, wireId });
  if (id === undefined) throw unknownTask();
  return id;
}

/** Cancels a task; one that has ended is left as it is (S-066). */
export async function cancelTask(session: SepSession, id: string): Promise<void> {
  await cancelling(session, () => cancelIfRunning(session, id));
}

/**
 * Cancels the task whose request a `notifications/cancelled` names, if it also names the task, and the request id matches: the task may be
 * from an earlier connection or process (S-061, S-063). A request of this connection is cancelled by its own signal.
 */
export async function cancelNamed(session: SepSession, cancelled: JsonObject): Promise<void> {
  const taskId = relatedTaskOf(cancelled);
  if (taskId === undefined) return;
  await cancelling(session, async () => {
    try {
      const id = await session.find(taskId);
      const { requestId } = await session.runtime.originOf(id, session.requestor);
      if (requestId === cancelled["requestId"]) await cancelIfRunning(session, id);
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
    }
  });
}

async function cancelling({ cancels }: SepSession, cancel: () => Promise<void>): Promise<void> {
  const work = cancel();
  cancels.add(work);
  try {
    await work;
  } finally {
    cancels.delete(work);
  }
}

async function cancelIfRunning({ runtime, requestor }: SepSession, id: string): Promise<void> {
  try {
    await runtime.cancelNow(id, requestor);
  } catch (error) {
    if (!isUnknownTask(error)) throw error;
  }
}
