import { isSpecType, type JSONRPCRequest, type RequestId } from "@modelcontextprotocol/server";
import { generation as coreGeneration } from "../../generation/2025-11-25.ts";
import type { JsonObject } from "../../generation/message.ts";
import { generation as sepGeneration, asksForTask } from "../../generation/sep-1686.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { createTask, refuseCall } from "../2025-11-25/call-tool.ts";
import type { TransportInfo } from "../received.ts";
import { type Access, type MessageContext, type ToolRequest } from "../request.ts";
import type { Answer } from "../answer.ts";
import { LineSubscriptions } from "../subscriptions/line-subscriptions.ts";
import {
  followedResourceOf,
  readTaskResource,
  subscribeMethod,
  taskResourceOf,
  unsubscribeMethod,
} from "../task-resources.ts";
import { generation as plain } from "../plain/plain-call.ts";
import type { Handle } from "../dispatch/dispatch-transport.ts";
import type { PollingToolKind } from "../plain/plain-policies.ts";
import { EarlierRequests } from "./earlier-requests.ts";
import { callTool, refuseCall as refuseSepCall } from "../sep-1686/answer-as-task.ts";
import { isReplay } from "./replay-id.ts";
import type { SessionContext, SessionServices } from "./session-context.ts";
import { VisibleTasks } from "./visible-tasks.ts";

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
    const access = this.#accessOf(extra);
    const transport = this.#transportOf(extra);
    return ({ signal, trace }) => answer({ id, params, signal, access, auth: extra?.auth, transport, trace });
  }

  /** How a request is answered that an earlier process has received; `joined` is the task that it found, if it made none. */
  resume(id: RequestId, joined: string | undefined, extra?: MessageContext): Handle {
    const access = this.#accessOf(extra);
    return ({ signal }) =>
      this.#earlier.answer({ id, params: {}, signal, access, auth: extra?.auth }, joined);
  }

  /** As `EarlierRequests.cancelled`, by the sender of the message of `extra`. */
  cancelEarlier(id: RequestId, reason: unknown, extra?: MessageContext): Promise<void> {
    return this.#earlier.cancelled(id, reason, this.#accessOf(extra)?.scopes);
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
      return async ({ access }) => ({
        result: await readTaskResource(runtime, read, { ...owner, scopes: access?.scopes }),
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
    const kind = this.#services.policies.pollingTool(name);
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
    const { calls, requireTasks } = this.#services;
    const { connection } = core;
    const asTask = client.hasCore && params["task"] !== undefined;
    const { hasCore, isPlain, hasUsedTasks } = client;
    const { capabilities } = connection;
    const isPollingTool = kind !== undefined;
    refuseCall(params, { tool, isPollingTool, hasCore, isPlain, hasUsedTasks, capabilities, requireTasks });
    if (kind !== undefined) return (request) => calls.poll(kind, request, connection);
    if (tool === undefined) return undefined;
    if (asTask) return (request) => createTask(tool, request, core);
    if (tool.task !== "optional") return (request) => calls.run(tool, request, connection);
    if (isPlain) return (request) => calls.wait(tool, request, connection);
    // It may never ask for a task, and a run without one would neither survive this process nor count. A client with tasks has no use for tickets.
    if (!hasUsedTasks || tool.concurrency !== undefined || tool.alwaysTask === true)
      return (request) => calls.wait({ ...tool, plain: "wait" }, request, connection);
    return (request) => calls.run(tool, request, connection);
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

  /** Each request has its own token. */
  #accessOf(extra: MessageContext | undefined): Access | undefined {
    const { access } = this.#context;
    return access && { ...access, scopes: extra?.authInfo?.scopes ?? [] };
  }
}
