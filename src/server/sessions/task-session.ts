import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { Access, Answer, ToolRequest } from "../request.ts";
import type { Connection } from "../connection/connection.ts";
import type { Rates } from "../rates.ts";
import type { TaskSubscriptions } from "../subscriptions/subscriptions.ts";

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
  Record<Method, (about: AboutTask) => Promise<Answer>>
>;

/** A request about one task, which may not be its sender's. */
export interface AboutTask {
  readonly id: string;
  /** As its sender names it. */
  readonly name: string;
  readonly request: ToolRequest;
  readonly session: TaskSession;
  /** The sender, with the scopes of its token. */
  readonly requestor: Requestor;
}

/** The client of the connection, with the scopes of the request's token. */
export function requestorWith({ requestor }: TaskSession, access: Access | undefined): Requestor {
  return { ...requestor, scopes: access?.scopes };
}

/** A task for `tasks/get`. From now on, its questions may be sent on this connection. */
export async function getTask({ id, request, session, requestor }: AboutTask): Promise<TaskSnapshot> {
  const { runtime, subscriptions, rates, connection } = session;
  const snapshot = await runtime.get(id, requestor, undefined, request.reserve);
  request.trace?.about(id);
  rates.advertised(snapshot.task.wireId, requestor.principal, snapshot.task.pollIntervalMs);
  subscriptions.polled(snapshot, requestor, connection);
  return snapshot;
}
