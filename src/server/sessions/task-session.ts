import { encodeCursor, readCursor } from "../../generation/message.ts";
import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { Access, Answer, ToolRequest } from "../request.ts";
import type { Connection } from "../connection/connection.ts";
import type { Rates } from "../rates.ts";
import type { TaskSubscriptions } from "../subscriptions/subscriptions.ts";

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** Tasks that are listed: a requestor's, or, with a scope, those whose names are unique in it. */
interface Listed {
  readonly requestor: Requestor;
  readonly scope: string | undefined;
}

/**
 * A page of the tasks of all `parts`, the newest first (C-072, C-073, S-046, S-047); rejects with `invalid_params`. No task is in two parts,
 * and no outcome is read.
 */
export async function listPage(
  runtime: Runtime,
  parts: readonly Listed[],
  params: unknown,
): Promise<{ readonly tasks: readonly TaskRecord[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  // One more than fits tells whether there is another page.
  const page = { limit: pageSize + 1, ...(after === undefined ? {} : { after }) };
  const listed = await Promise.all(
    parts.map(async ({ requestor, scope }) => {
      return runtime.list(requestor, { ...page, ...(scope === undefined ? {} : { scope }) });
    }),
  );
  const all = listed.flat().toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const onPage = all.slice(0, pageSize);
  const last = all.length > pageSize ? onPage.at(-1) : undefined;
  const nextCursor = last === undefined ? undefined : encodeCursor(last.id);
  return { tasks: onPage, nextCursor };
}

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
