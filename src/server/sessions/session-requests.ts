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
import { type JsonObject, listResult } from "../../generation/message.ts";
import { HoldfastError, isUnknownTask } from "../../task/fault.ts";
import { methods as coreMethods, createTask, refuseCall, taskCreated } from "../2025-11-25/tasks.ts";
import type { Answer, MessageContext, ToolRequest, TransportInfo } from "../request.ts";
import { methods as sepMethods } from "../sep-1686/tasks.ts";
import {
  accessOf,
  listMethod,
  type SessionContext,
  type SessionGeneration,
  type SessionServices,
} from "./session-context.ts";
import { plainCall, runCall, waitForCall } from "./direct-calls.ts";
import { listPage, type TaskMethods, type TaskSession } from "./task-session.ts";
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
import { LineSubscriptions } from "../subscriptions/subscriptions.ts";
import {
  followedResourceOf,
  readTaskResource,
  subscribeMethod,
  taskResourceOf,
  unsubscribeMethod,
} from "../task-resources.ts";
import type { DispatchContext, Handle } from "../dispatch/dispatch-transport.ts";
import type { ReserveMemory } from "../../store/store.ts";
import { isReplay } from "../streams.ts";

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

interface Form {
  readonly methods: Partial<TaskMethods<string>>;
  /** A task in a list. */
  readonly shown: (task: TaskRecord) => object;
}

const forms: Readonly<Record<SessionGeneration, Form>> = {
  [coreGeneration]: { methods: coreMethods, shown: coreTask },
  [sepGeneration]: { methods: sepMethods, shown: sepTask },
};

const methods: ReadonlySet<string> = new Set([...coreTaskMethods, ...sepTaskMethods]);

/** A request about tasks. */
interface Asked {
  readonly method: string;
  readonly form: SessionGeneration;
  readonly request: ToolRequest;
}

/** Answers the requests about tasks on one connection. */
class VisibleTasks {
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
    if (session !== undefined && session.cancels.size > 0) await Promise.allSettled(session.cancels);
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
    const sessions = { [coreGeneration]: this.#context.core, [sepGeneration]: this.#context.sep?.session };
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
  const { runtime } = form.session;
  const parts = listed.map(({ requestor, scope }) => {
    return { requestor: { ...requestor, scopes: request.access?.scopes }, scope };
  });
  const { tasks, nextCursor } = await listPage(runtime, parts, request.params);
  return { result: { ...listResult(tasks.map(forms[form.generation].shown), nextCursor) } };
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

/** The task of a request, and what it remembers of that. */
interface Found {
  readonly snapshot: TaskSnapshot;
  readonly origin: Origin;
}

/** Requests that another process has received in this session, mostly one that has ended, and has not answered. */
class EarlierRequests {
  readonly #context: SessionContext;
  readonly #services: SessionServices;

  constructor(context: SessionContext, services: SessionServices) {
    this.#context = context;
    this.#services = services;
  }

  /**
   * Answers a request with the task that it created, or with the one that it joined. Only the id of `request` is known. Rejects with
   * `stream_lost` if no task stores it.
   */
  async answer(request: ToolRequest, joined?: string): Promise<Answer> {
    const { core: session, sep } = this.#context;
    const { plain: calls, subscriptions, runtime } = this.#services;
    const { scopes } = request.access ?? {};
    const found = await this.#find(request.id, joined, scopes, request.reserve);
    if (found === undefined) throw sentElsewhere();
    const { snapshot, origin } = found;
    const { task } = snapshot;
    session.connection.streams.needs?.(task.requiredScopes, request.id);
    const { progressToken } = origin;
    const params = progressToken === undefined ? {} : { _meta: { progressToken } };
    const asked = { ...request, params };
    const tool = runtime.registry.handlerOf(task);
    if (task.generation === plain)
      return calls.resume(task, tool, plainCall(asked, session.connection, subscriptions.plain));
    if (task.generation === coreGeneration) return taskCreated(snapshot, tool, asked, session);
    if (sep === undefined) throw sentElsewhere();
    return answerAtEnd(snapshot, asked, sep.session);
  }

  /** The client does not wait for the answer any more. */
  async cancelled(request: RequestId, reason: unknown, scopes?: readonly string[]): Promise<void> {
    const { sep } = this.#context;
    const found = await this.#find(request, undefined, scopes);
    if (found === undefined) return;
    const { task } = found.snapshot;
    if (task.finishedAt !== null) return;
    if (task.generation === plain) {
      await this.#services.plain.leave(task, departureByReason(reason));
    } else if (task.generation === sepGeneration && sep !== undefined) {
      await cancelTask(sep.session, task.id);
    }
  }

  async #find(
    request: RequestId,
    joined?: string,
    scopes?: readonly string[],
    reserve?: ReserveMemory,
  ): Promise<Found | undefined> {
    const { runtime } = this.#services;
    const { principal, streams } = this.#context.core.connection;
    const [made] = (await runtime.sessions?.tasksOf(streams.sessionKey ?? "", 1, request)) ?? [];
    const id = joined ?? made;
    if (id === undefined) return undefined;
    for (const generation of [plain, coreGeneration, sepGeneration] as const) {
      const requestor = { generation, principal, scopes };
      try {
        const snapshot = await runtime.get(id, requestor, "unasked", reserve);
        return { snapshot, origin: await runtime.originOf(id, requestor) };
      } catch (error) {
        if (!isUnknownTask(error)) throw error; // else it is of another generation, or gone
      }
    }
    return undefined;
  }
}

/** What the transport knows of a request. */
function requestOf({
  signal,
  trace,
  reserve,
}: DispatchContext): Pick<ToolRequest, "signal" | "trace" | "reserve"> {
  return { signal, trace, reserve };
}

/** Answers a request; rejects with its fault. */
type Work = (request: ToolRequest) => Promise<Answer>;

/** Which requests of a connection are ours, and how they are answered: by 2025-11-25, by SEP-1686, or without a task. */
export class SessionRequests {
  readonly #earlier: EarlierRequests;
  readonly #context: SessionContext;
  readonly #services: SessionServices;
  readonly #followed: LineSubscriptions;
  readonly #tasks: VisibleTasks;

  constructor(context: SessionContext, services: SessionServices) {
    this.#earlier = new EarlierRequests(context, services);
    this.#context = context;
    this.#services = services;
    this.#tasks = new VisibleTasks(context);
    const { runtime, onError } = services;
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
      work ??= method === "tools/call" ? this.#call(request, params) : this.#tasks.work(method, params);
    } catch (fault) {
      return async () => {
        throw fault;
      };
    }
    if (work === undefined) return undefined;
    const answer = work;
    const access = accessOf(this.#context, extra);
    const transport = this.#transportOf(extra);
    return (context) => answer({ ...requestOf(context), id, params, access, auth: extra?.auth, transport });
  }

  /** How a request is answered that an earlier process has received; `joined` is the task that it found, if it made none. */
  resume(id: RequestId, joined: string | undefined, extra?: MessageContext): Handle {
    const access = accessOf(this.#context, extra);
    return (context) =>
      this.#earlier.answer({ ...requestOf(context), id, params: {}, access, auth: extra?.auth }, joined);
  }

  /** As `EarlierRequests.cancelled`, by the sender of the message of `extra`. */
  cancelEarlier(id: RequestId, reason: unknown, extra?: MessageContext): Promise<void> {
    return this.#earlier.cancelled(id, reason, accessOf(this.#context, extra)?.scopes);
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
      const { runtime } = this.#services;
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
    const { registry } = this.#services.runtime;
    const name = typeof params["name"] === "string" ? params["name"] : undefined;
    const tool = name === undefined ? undefined : registry.get(name);
    const kind = this.#services.plain.policies.pollingTool(name);
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
    const { client, core } = this.#context;
    const { pollingTools, subscriptions, requireTasks } = this.#services;
    const { connection } = core;
    const asTask = client.hasCore && params["task"] !== undefined;
    const { hasCore, isPlain, hasUsedTasks } = client;
    const { capabilities } = connection;
    const isPollingTool = kind !== undefined;
    refuseCall(params, { tool, isPollingTool, hasCore, isPlain, hasUsedTasks, capabilities, requireTasks });
    if (kind !== undefined)
      return (request) => pollingTools.answer(kind, plainCall(request, connection, subscriptions.plain));
    if (tool === undefined) return undefined;
    if (asTask) return (request) => createTask(tool, request, core);
    if (tool.task !== "optional") return (request) => runCall(this.#services, tool, request, connection);
    if (isPlain) return (request) => waitForCall(this.#services, tool, request, connection);
    // It may never ask for a task, and a run without one would neither survive this process nor count. A client with tasks has no use for tickets.
    if (!hasUsedTasks || tool.concurrency !== undefined || tool.alwaysTask === true)
      return (request) => waitForCall(this.#services, { ...tool, plain: "wait" }, request, connection);
    return (request) => runCall(this.#services, tool, request, connection);
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
