import { isSpecType, type JSONRPCRequest, type RequestId } from "@modelcontextprotocol/server";
import {
  generation as coreGeneration,
  taskMethods as coreTaskMethods,
  wireTask as coreTask,
} from "../../generation/2025-11-25.ts";
import {
  asksForTask,
  generation as sepGeneration,
  taskMethods as sepTaskMethods,
  wireTask as sepTask,
} from "../../generation/sep-1686.ts";
import {
  encodeCursor,
  type JsonObject,
  listResult,
  readCursor,
  readTaskId,
} from "../../generation/message.ts";
import { HoldfastError, unknownTask } from "../../task/fault.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import {
  createTask,
  format as coreFormat,
  methods as coreMethods,
  refuseCall,
  taskCreated,
} from "../2025-11-25/tasks.ts";
import type { OnError } from "../faults.ts";
import type { Answer, MessageContext, ToolRequest, TransportInfo } from "../request.ts";
import { format as sepFormat, methods as sepMethods } from "../sep-1686/tasks.ts";
import {
  accessOf,
  listMethod,
  type SessionContext,
  type SessionGeneration,
  type SessionServices,
} from "./session-context.ts";
import { format as plainFormat, plainCall, runCall, waitForCall } from "./direct-calls.ts";
import { requestorWith, type TaskMethods, type TaskSession } from "./task-session.ts";
import type { Origin, TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { sentElsewhere } from "../../task/unanswered.ts";
import { departureByReason, generation as plain, type PollingToolKind } from "../plain/plain-policies.ts";
import {
  answerAtEnd,
  callTool,
  cancelTask,
  refuseCall as refuseSepCall,
} from "../sep-1686/forwarded-requests.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { NotificationFormat } from "../subscriptions/subscribers.ts";
import { LineSubscriptions, TaskSubscriptions } from "../subscriptions/subscriptions.ts";
import {
  firstKnown,
  followedResourceOf,
  readTaskResource,
  subscribeMethod,
  taskResourceOf,
  unsubscribeMethod,
} from "../task-resources.ts";
import type { Handle } from "../dispatch/dispatch-transport.ts";
import { isReplay } from "../streams.ts";

/**
 * The tasks that a client of an earlier revision sees. These always hold:
 *
 * - Every method treats a task alike: what `tasks/get` finds, `tasks/list` lists, and every other method takes (C-075, S-049). Only
 *   `tasks/delete` is for tasks of SEP-1686 alone, and says so of another one.
 * - Which tasks these are depends on nothing but the generations that the session sees, its principal or else the session itself (A-39,
 *   A-43), and the generation of the task. Without a principal, no list has tasks of 2025-11-25: their id is the only key.
 * - A session sees the tasks of its revision's own generation. A request that uses the other one adds it (`generationsUsedIn`), for itself
 *   and for all later requests of the session, in every process; so does a client that declares tasks as SEP-1686 does. Without a session,
 *   each request is judged alone.
 * - A task is shown in the form of the request: that of the generation which the request names, or else of the revision. A list has one
 *   form: where its request names none, that of the only generation that the session has used, if it is one.
 * - Tasks of 2026-07-28, and those of clients without tasks, are not among them.
 */

interface Form {
  readonly methods: Partial<TaskMethods<string>>;
  /** A task in a list. */
  readonly shown: (task: TaskRecord) => object;
  readonly format: NotificationFormat;
}

const forms: Readonly<Record<SessionGeneration, Form>> = {
  [coreGeneration]: { methods: coreMethods, shown: coreTask, format: coreFormat },
  [sepGeneration]: { methods: sepMethods, shown: sepTask, format: sepFormat },
};

/** Who is notified of tasks of each generation, and asked the questions of calls without tasks. */
export function sessionSubscriptions(runtime: Runtime, onError: OnError): SessionServices["subscriptions"] {
  const ofTasks = ({ format }: Pick<Form, "format">): TaskSubscriptions =>
    new TaskSubscriptions(runtime, onError, format);
  return {
    [coreGeneration]: ofTasks(forms[coreGeneration]),
    [sepGeneration]: ofTasks(forms[sepGeneration]),
    [plain]: ofTasks({ format: plainFormat }),
  };
}

const methods: ReadonlySet<string> = new Set([...coreTaskMethods, ...sepTaskMethods]);

/** Answers a request; rejects with its fault. */
type Work = (request: ToolRequest) => Promise<Answer>;

/** How a request about tasks is answered; undefined for one that is about something else. */
function taskWork(context: SessionContext, method: string, params: JsonObject): Work | undefined {
  if (!methods.has(method)) return undefined;
  const { client, sep, core } = context;
  const form = client.formOf(method, params);
  const seen = client.generations;
  const sessions = { [coreGeneration]: core, [sepGeneration]: sep?.session };
  /** With tasks of these generations; the one in whose form the request is answered comes first. */
  const sessionsOf = (generations: ReadonlySet<SessionGeneration>): readonly Seen[] =>
    [...new Set([form, ...generations])].flatMap((generation) => {
      const session = sessions[generation];
      return session === undefined ? [] : [{ generation, session }];
    });
  /** With the generation that the client has just used in another process, if it has. */
  const caughtUp = async (): Promise<readonly Seen[]> => {
    const { catchUp } = core.connection.streams;
    if (catchUp === undefined || seen.size === Object.keys(forms).length) return sessionsOf(seen);
    await catchUp();
    return sessionsOf(client.generations);
  };
  return async (request) => {
    if (sep !== undefined) await Promise.allSettled(sep.session.cancels);
    if (method === listMethod) return list(request, await caughtUp());
    const known = sessionsOf(seen);
    const answer = await aboutTask(method, request, known);
    if (answer !== undefined) return answer;
    const now = await caughtUp();
    const later = now.length > known.length ? await aboutTask(method, request, now) : undefined;
    if (later === undefined) throw unknownTask();
    return later;
  };
}

interface Seen {
  readonly generation: SessionGeneration;
  readonly session: TaskSession;
}

/** Tasks on one page. */
const pageSize = 50;

/**
 * A page of the tasks of all these sessions, the newest first (C-072, C-073, S-046, S-047); rejects with `invalid_params`. No task is in two of
 * them, and no outcome is read.
 */
async function list({ params, access }: ToolRequest, seen: readonly Seen[]): Promise<Answer> {
  const [form] = seen;
  // Where callers are not told apart, tasks are a caller's own only by its session (A-39, C-010, C-011).
  const listed = seen.filter(
    ({ session: { scope, requestor } }) => scope !== undefined || requestor.principal !== null,
  );
  if (form === undefined || listed.length === 0) throw notFound(listMethod);
  const after = readCursor(params);
  // One more than fits tells whether there is another page.
  const page = { limit: pageSize + 1, ...(after !== undefined && { after }) };
  const tasks = await Promise.all(
    listed.map(({ session }) => {
      const { runtime, scope } = session;
      return runtime.list(requestorWith(session, access), { ...page, ...(scope !== undefined && { scope }) });
    }),
  );
  const all = tasks.flat().toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const onPage = all.slice(0, pageSize);
  const last = all.length > pageSize ? onPage.at(-1) : undefined;
  const shown = onPage.map(forms[form.generation].shown);
  return { result: { ...listResult(shown, last && encodeCursor(last.id)) } };
}

/** Answers with the first task of that name; undefined if there is none. */
async function aboutTask(
  method: string,
  request: ToolRequest,
  seen: readonly Seen[],
): Promise<Answer | undefined> {
  const answering = seen.map(({ generation }) => forms[generation].methods[method]).find(Boolean);
  if (answering === undefined) throw notFound(method);
  const name = readTaskId(method, request.params);
  return firstKnown(seen, async ({ session }) => {
    const id = await session.find(name);
    return answering({ id, name, request, session, requestor: requestorWith(session, request.access) });
  });
}

function notFound(method: string): HoldfastError {
  return new HoldfastError("method_not_found", `Method not found: ${method}`);
}

/** The task of a request, and what it remembers of that. */
interface Found {
  readonly snapshot: TaskSnapshot;
  readonly origin: Origin;
}

/** A request that another process has received in this session, mostly one that has ended, and has not answered. */
async function findEarlier(
  { core, services }: SessionContext,
  { id: request, access, reserve }: Pick<ToolRequest, "id" | "access" | "reserve">,
  joined?: string,
): Promise<Found | undefined> {
  const { runtime } = services;
  const { principal, streams } = core.connection;
  const [made] = (await runtime.sessions?.tasksOf(streams.sessionKey ?? "", 1, request)) ?? [];
  const id = joined ?? made;
  if (id === undefined) return undefined;
  return firstKnown([plain, coreGeneration, sepGeneration] as const, async (generation) => {
    const requestor = { generation, principal, scopes: access?.scopes };
    const snapshot = await runtime.get(id, requestor, "unasked", reserve);
    return { snapshot, origin: await runtime.originOf(id, requestor) };
  });
}

/** Which requests of a connection are ours, and how they are answered: by 2025-11-25, by SEP-1686, or without a task. */
export class SessionRequests {
  readonly #context: SessionContext;
  readonly #followed: LineSubscriptions;

  constructor(context: SessionContext) {
    this.#context = context;
    const { runtime, onError } = context.services;
    this.#followed = new LineSubscriptions({ runtime, connection: context.core.connection, onError });
  }

  /** Undefined for a request that the SDK answers, perhaps with an error. */
  handle(request: JSONRPCRequest, extra?: MessageContext): Handle | undefined {
    const { id, method, params = {} } = request;
    const { client, sep, serves } = this.#context;
    client.requested(params, extra?.request?.headers.get("mcp-protocol-version") ?? undefined);
    let work = this.#lines(method, params, extra);
    if (work === undefined && (method === "resources/read" || method === "prompts/get")) {
      if (sep === undefined || !asksForTask(params) || !serves(method)) return undefined;
      return (context) => sep.forwarded.answer(request, method, context);
    }
    try {
      work ??=
        method === "tools/call" ? this.#call(request, params) : taskWork(this.#context, method, params);
    } catch (fault) {
      return async () => {
        throw fault;
      };
    }
    return work && this.#handling(work, { id, params, transport: this.#transportOf(extra) }, extra);
  }

  #handling(
    work: Work,
    request: Pick<ToolRequest, "id" | "params" | "transport">,
    extra?: MessageContext,
  ): Handle {
    const access = accessOf(this.#context, extra);
    return ({ signal, trace, reserve }) =>
      work({ signal, trace, reserve, ...request, access, auth: extra?.auth });
  }

  /**
   * How a request is answered that an earlier process has received: with the task that it created, or with the one that it `joined`. Only its
   * id is known. Rejects with `stream_lost` if no task stores it.
   */
  resume(id: RequestId, joined: string | undefined, extra?: MessageContext): Handle {
    const { core: session, sep, services } = this.#context;
    const work: Work = async (request) => {
      const found = await findEarlier(this.#context, request, joined);
      if (found === undefined) throw sentElsewhere();
      const { snapshot, origin } = found;
      const { task } = snapshot;
      session.connection.streams.needs?.(task.requiredScopes, id);
      const { progressToken } = origin;
      const asked = { ...request, params: progressToken === undefined ? {} : { _meta: { progressToken } } };
      const tool = services.runtime.registry.handlerOf(task);
      if (task.generation === plain)
        return services.plain.resume(task, tool, plainCall(asked, this.#context));
      if (task.generation === coreGeneration) return taskCreated(snapshot, tool, asked, session);
      if (sep === undefined) throw sentElsewhere();
      return answerAtEnd(snapshot, asked, sep.session);
    };
    return this.#handling(work, { id, params: {} }, extra);
  }

  /** The client does not wait for the answer to such a request any more. `extra` is of the message that says so. */
  async cancelEarlier(id: RequestId, reason: unknown, extra?: MessageContext): Promise<void> {
    const { sep, services } = this.#context;
    const found = await findEarlier(this.#context, { id, access: accessOf(this.#context, extra) });
    const task = found?.snapshot.task;
    if (task === undefined || task.finishedAt !== null) return;
    if (task.generation === plain) await services.plain.leave(task, departureByReason(reason));
    else if (task.generation === sepGeneration && sep !== undefined) await cancelTask(sep.session, task.id);
  }

  /** What belongs to a task and is read as a resource, or subscribed to. */
  #lines(method: string, params: JsonObject, extra?: MessageContext): Work | undefined {
    const { principal, streams } = this.#context.core.connection;
    const owner = {
      principal,
      session: streams.sessionKey,
      generations: [coreGeneration, sepGeneration, plain] as const,
    };
    const read = taskResourceOf(method, params);
    if (read !== undefined) {
      const { runtime } = this.#context.services;
      return async ({ access, reserve }) => ({
        result: await readTaskResource(runtime, read, { ...owner, scopes: access?.scopes }, reserve),
      });
    }
    const followed = followedResourceOf(method, params);
    // Without a session, nothing could be sent: the author's server answers with that.
    if (followed === undefined || !streams.initialized) return undefined;
    return async ({ id, access }) => {
      if (method === unsubscribeMethod) this.#followed.unsubscribe(followed.uri);
      // What another process has granted comes without a token, but notifications still need the scopes of the stream.
      const scopes = extra?.authInfo === undefined ? undefined : access?.scopes;
      if (method === subscribeMethod)
        await this.#followed.subscribe(followed, { ...owner, scopes }, isReplay(id));
      return { result: {} };
    };
  }

  /** Throws the fault of a call that is refused before its arguments are validated. */
  #call(request: JSONRPCRequest, params: JsonObject): Work | undefined {
    const { runtime, plain: calls } = this.#context.services;
    const name = typeof params["name"] === "string" ? params["name"] : undefined;
    const tool = name === undefined ? undefined : runtime.registry.get(name);
    const kind = calls.policies.pollingTool(name);
    const work =
      tool !== undefined && this.#asksForSep(params, tool)
        ? this.#sepCall(tool, params)
        : this.#coreCall(tool, kind, params);
    // The SDK answers a malformed call.
    return work !== undefined && isSpecType.CallToolRequest(request) ? work : undefined;
  }

  #sepCall(tool: Tool, params: JsonObject): Work | undefined {
    const { core, sep } = this.#context;
    refuseSepCall(params, tool, core.connection.capabilities);
    return sep && ((request) => callTool(tool, request, sep.session));
  }

  #coreCall(tool: Tool | undefined, kind: PollingToolKind | undefined, params: JsonObject): Work | undefined {
    const context = this.#context;
    const { client, core, services } = context;
    refuseCall(params, tool, kind !== undefined, context);
    if (kind !== undefined)
      return (request) => services.pollingTools.answer(kind, plainCall(request, context));
    if (tool === undefined) return undefined;
    if (client.hasCore && params["task"] !== undefined) return (request) => createTask(tool, request, core);
    if (tool.task !== "optional") return (request) => runCall(context, tool, request);
    if (client.isPlain) return (request) => waitForCall(context, tool, request);
    // It may never ask for a task, and a run without one would neither survive this process nor count. A client with tasks has no use for tickets.
    if (!client.hasUsedTasks || tool.concurrency !== undefined || tool.alwaysTask === true)
      return (request) => waitForCall(context, { ...tool, plain: "wait" }, request);
    return (request) => runCall(context, tool, request);
  }

  /** Whether a call asks for a task of SEP-1686. */
  #asksForSep(params: JsonObject, tool: Tool): boolean {
    const { client, sep } = this.#context;
    if (sep === undefined || !asksForTask(params) || (client.hasCore && params["task"] !== undefined))
      return false;
    return tool.task !== "forbidden"; // others run without a task (S-009)
  }

  #transportOf({ authInfo, request }: MessageContext = {}): TransportInfo {
    const hasSession = this.#context.core.connection.streams.sessionKey !== undefined;
    const sessionId = hasSession ? (request?.headers.get("mcp-session-id") ?? undefined) : undefined;
    return { authInfo, sessionId, http: () => request };
  }
}
