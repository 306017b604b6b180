import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { Access, ToolRequest } from "../request.ts";
import type { Answer } from "../answer.ts";
import type { Listed } from "../list-page.ts";
import type { Connection } from "../connection/connection.ts";
import type { Rates } from "../rates/rates.ts";
import type { TaskSubscriptions } from "../subscriptions/task-subscriptions.ts";

/** A connection of an earlier revision, for tasks of one generation. */
export interface TaskSession {
  /** The id of the task that the client names so; may reject with `unknown_task`. */
  find(name: string): Promise<string>;
  /** Where requestors name tasks: the scope in which their names are unique. */
  readonly scope: string | undefined;
  readonly runtime: Runtime;
  readonly subscriptions: TaskSubscriptions;
  readonly rates: Rates;
  readonly connection: Connection;
  readonly requestor: Requestor;
}

/**
 * How a generation answers its methods about one task, in its own form; they reject with a `HoldfastError`. The task may be of the session of
 * another generation.
 */
export type TaskMethods<Method extends string> = Readonly<
  Record<Method, (request: ToolRequest, session: TaskSession) => Promise<Answer>>
>;

/** How a generation lists the tasks of these sessions, in its own form. */
export type ListTasks = (
  request: ToolRequest,
  runtime: Runtime,
  sessions: readonly TaskSession[],
) => Promise<Answer>;

/** What there is to list for the sender of a request. */
export function listedIn(sessions: readonly TaskSession[], access: Access | undefined): readonly Listed[] {
  return sessions.map((session) => ({ requestor: requestorWith(session, access), scope: session.scope }));
}

/** The client of the connection, with the scopes of the request's token. */
export function requestorWith({ requestor }: TaskSession, access: Access | undefined): Requestor {
  return { ...requestor, scopes: access?.scopes };
}

/** A task for `tasks/get`. From now on, its questions may be sent on this connection. */
export async function getTask(
  session: TaskSession,
  id: string,
  { access, trace }: Pick<ToolRequest, "access" | "trace">,
): Promise<TaskSnapshot> {
  const { runtime, subscriptions, rates, connection } = session;
  const requestor = requestorWith(session, access);
  const snapshot = await runtime.get(id, requestor);
  trace?.about(id);
  rates.advertised(snapshot.task.wireId, requestor.principal, snapshot.task.pollIntervalMs);
  subscriptions.polled(snapshot, requestor, connection);
  return snapshot;
}
