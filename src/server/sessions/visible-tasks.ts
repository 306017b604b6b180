/**
 * The tasks that a client of an earlier revision sees. These always hold:
 *
 * - Every method treats a task alike: what `tasks/get` finds, `tasks/list` lists, and every other method takes (C-075, S-049). Only
 *   `tasks/delete` is for tasks of SEP-1686 alone, and says so of another one.
 * - Which tasks these are depends on nothing but the generations that the session sees, its principal or else the session itself (A-39,
 *   A-43), and the generation of the task. Without a principal, no list has tasks of 2025-11-25: their id is the only key.
 * - A session sees the tasks of its revision's own generation. A request that uses the other one adds it (`used-generations.ts`), for itself
 *   and for all later requests of the session, in every process; so does a client that declares tasks as SEP-1686 does. Without a session,
 *   each request is judged alone.
 * - A task is shown in the form of the request: that of the generation which the request names, or else of the revision. A list has one
 *   form: where its request names none, that of the only generation that the session has used, if it is one.
 * - Tasks of 2026-07-28, and those of clients without tasks, are not among them.
 */

import { generation as core, taskMethods as coreTaskMethods } from "../../generation/2025-11-25.ts";
import { generation as sep, taskMethods as sepTaskMethods } from "../../generation/sep-1686.ts";
import type { JsonObject } from "../../generation/message.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import { list as coreList, methods as coreMethods } from "../2025-11-25/task-methods.ts";
import type { Answer } from "../answer.ts";
import type { ToolRequest } from "../request.ts";
import { list as sepList, methods as sepMethods } from "../sep-1686/task-methods.ts";
import { listMethod } from "./client.ts";
import type { SessionContext } from "./session-context.ts";
import type { ListTasks, TaskMethods, TaskSession } from "./task-session.ts";
import type { SessionGeneration } from "./used-generations.ts";

interface Form {
  readonly methods: Partial<TaskMethods<string>>;
  readonly list: ListTasks;
}

const forms: Readonly<Record<SessionGeneration, Form>> = {
  [core]: { methods: coreMethods, list: coreList },
  [sep]: { methods: sepMethods, list: sepList },
};

const methods: ReadonlySet<string> = new Set([...coreTaskMethods, ...sepTaskMethods]);

/** A request about tasks. */
interface Asked {
  readonly method: string;
  readonly form: SessionGeneration;
  readonly request: ToolRequest;
}

/** Answers the requests about tasks on one connection. */
export class VisibleTasks {
  readonly #context: SessionContext;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** How a request is answered, which rejects with its fault; undefined for one that is not about tasks. */
  work(method: string, params: JsonObject): ((request: ToolRequest) => Promise<Answer>) | undefined {
    if (!methods.has(method)) return undefined;
    const { client } = this.#context;
    const { generations } = client;
    const form = client.formOf(method, params);
    return (request) => this.#answer({ method, form, request }, generations);
  }

  async #answer(asked: Asked, seen: ReadonlySet<SessionGeneration>): Promise<Answer> {
    const { session } = this.#context.sep ?? {};
    if (session !== undefined) await Promise.allSettled(session.cancels);
    if (asked.method === listMethod) return list(asked, this.#sessions(asked, await this.#caughtUp(seen)));
    try {
      return await first(asked, this.#sessions(asked, seen));
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
      const now = await this.#caughtUp(seen);
      if (now.size === seen.size) throw error;
      return first(asked, this.#sessions(asked, now));
    }
  }

  /** With the generation that the client has just used in another process, if it has. */
  async #caughtUp(seen: ReadonlySet<SessionGeneration>): Promise<ReadonlySet<SessionGeneration>> {
    const { client, core: session } = this.#context;
    const { catchUp } = session.connection.streams;
    if (catchUp === undefined || seen.size === Object.keys(forms).length) return seen;
    await catchUp();
    return client.generations;
  }

  /** Of these generations; the one in whose form the request is answered comes first. */
  #sessions({ form }: Asked, seen: ReadonlySet<SessionGeneration>): readonly Seen[] {
    const sessions = { [core]: this.#context.core, [sep]: this.#context.sep?.session };
    return [...new Set([form, ...seen])].flatMap((generation) => {
      const session = sessions[generation];
      return session === undefined ? [] : [{ generation, session }];
    });
  }
}

interface Seen {
  readonly generation: SessionGeneration;
  readonly session: TaskSession;
}

async function list({ method, request }: Asked, seen: readonly Seen[]): Promise<Answer> {
  const [form] = seen;
  const sessions = seen.map(({ session }) => session);
  // Where callers are not told apart, tasks are a caller's own only by its session (A-39, C-010, C-011).
  const listed = sessions.filter(
    ({ scope, requestor }) => scope !== undefined || requestor.principal !== null,
  );
  if (form === undefined || listed.length === 0) throw notFound(method);
  return forms[form.generation].list(request, form.session.runtime, listed);
}

/** Answers with the first task of that name; rejects with `unknown_task` if there is none. */
async function first({ method, request }: Asked, seen: readonly Seen[]): Promise<Answer> {
  const answering = seen.map(({ generation }) => forms[generation].methods[method]).find(Boolean);
  if (answering === undefined) throw notFound(method);
  let unknown: unknown;
  for (const { session } of seen) {
    try {
      return await answering(request, session);
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
      unknown = error;
    }
  }
  throw unknown;
}

function notFound(method: string): HoldfastError {
  return new HoldfastError("method_not_found", `Method not found: ${method}`);
}
