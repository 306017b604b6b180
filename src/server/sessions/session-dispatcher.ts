import type {
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  RequestId,
} from "@modelcontextprotocol/server";
import { generation as core } from "../../generation/2025-11-25.ts";
import { generation as sepGeneration } from "../../generation/sep-1686.ts";
import { type JsonObject, logLevelOf, setLevelMethod } from "../../generation/message.ts";
import type { Answer, MessageContext, Owner, RequestTrace } from "../request.ts";
import { isStopping, isUnknownTask } from "../../task/fault.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { Connection } from "../connection/connection.ts";
import type { Amend, Handle, Wire, WireDispatcher } from "../dispatch/dispatch-transport.ts";
import { initializeResult, recognisedMsOfAsked, sessionTools, withTemplates } from "../dispatch/merge.ts";
import { refusalOf } from "../faults.ts";
import { cancelNamed, ForwardedRequests, sepSessionOf } from "../sep-1686/forwarded-requests.ts";
import { firstKnown } from "../task-resources.ts";
import { memoryFor, type ReserveAnswer, type Streams } from "../streams.ts";
import type { RequestTracing } from "../tracing.ts";
import { accessOf, Client, type SessionContext, type SessionServices } from "./session-context.ts";
import { requestorWith } from "./task-session.ts";
import { SessionRequests } from "./session-requests.ts";

/** How many tasks of one session are followed after a restart. */
const mostFollowed = 100;

/**
 * One connection of an earlier revision: answers its requests about tools and tasks, amends the SDK's answers, and owns the
 * `Connection` through which tasks reach the client.
 */
export class SessionDispatcher implements WireDispatcher {
  readonly #services: SessionServices;
  readonly #connection: Connection;
  readonly #context: SessionContext;
  readonly #requests: SessionRequests;
  /** Requests that wait here for their answers. */
  readonly #open = new Set<RequestId>();

  /** `serves`: whether the author's server answers requests for a method. */
  constructor(
    services: SessionServices,
    { principal, access }: Owner,
    streams: Streams,
    serves: (method: string) => boolean = () => false,
  ) {
    const { runtime, rates, subscriptions, forwarder } = services;
    const connection = new Connection(principal, streams);
    const session = sepSessionOf({ runtime, subscriptions: subscriptions[sepGeneration], rates, connection });
    this.#services = services;
    this.#connection = connection;
    this.#context = {
      services,
      client: new Client(connection, session !== undefined),
      core: {
        runtime,
        subscriptions: subscriptions[core],
        rates,
        connection,
        requestor: { generation: core, principal },
        scope: undefined,
        find: async (id) => id,
      },
      sep: session && { session, forwarded: new ForwardedRequests(session, forwarder) },
      access,
      serves,
    };
    this.#requests = new SessionRequests(this.#context);
  }

  /** Undefined before the handshake. */
  get protocolVersion(): string | undefined {
    return this.#connection.protocolVersion;
  }

  get reserve(): ReserveAnswer | undefined {
    return this.#connection.streams.reserve;
  }

  errorOf(thrown: unknown): JsonRpcError {
    const { rates, errorOf } = this.#services;
    if (isUnknownTask(thrown)) rates.missed(this.#connection.principal);
    return errorOf(thrown);
  }

  dispatch(request: JSONRPCRequest, extra?: MessageContext): Handle | undefined {
    this.#connection.requested(request);
    this.#open.add(request.id);
    const handle = this.#requests.handle(request, extra);
    return handle && this.#reportingRefusals(handle, request.method);
  }

  /** Answers a request of ours without a connection; undefined for one that is not. */
  answer(
    request: JSONRPCRequest,
    extra: MessageContext,
    tracing?: RequestTracing,
  ): Promise<Answer> | undefined {
    const handle = this.dispatch(request, extra);
    const { signal } = extra.request ?? new AbortController();
    return handle && this.#answered(handle, signal, tracing?.begin(request, "http"));
  }

  async #answered(handle: Handle, signal: AbortSignal, trace: RequestTrace | undefined): Promise<Answer> {
    let release = (): void => undefined;
    const reserve = memoryFor({ signal }, this.reserve, (action) => void (release = action));
    const answer = await handle({ signal, forward: () => undefined, trace, reserve })
      .catch((thrown: unknown) => ({ error: this.errorOf(thrown) }))
      .finally(() => this.closed());
    release();
    trace?.answered(answer);
    return answer;
  }

  /** Adds reports of refusals to a handle; the same handle if nothing listens. */
  #reportingRefusals(handle: Handle, method: string): Handle {
    const { events } = this.#services;
    if (events === undefined) return handle;
    const { principal } = this.#connection;
    return (context) =>
      handle(context).catch((thrown: unknown) => {
        if (!context.signal.aborted) events.emit(refusalOf(thrown, { principal, method }));
        throw thrown;
      });
  }

  /** Whether a `tasks/result` of 2025-11-25 is about a task of its sender that has ended. */
  async isSettled({ params }: JSONRPCRequest, extra: MessageContext): Promise<boolean> {
    const { core: session } = this.#context;
    const taskId = params?.["taskId"];
    if (typeof taskId !== "string") return false;
    return session.runtime.hasEnded(taskId, requestorWith(session, accessOf(this.#context, extra)));
  }

  /** As `SessionRequests.resume`. */
  resume(id: RequestId, joined: string | undefined, extra?: MessageContext): Handle {
    this.#open.add(id);
    return this.#requests.resume(id, joined, extra);
  }

  /** The session is one of another process: subscribes to the unfinished tasks that came from it there. */
  async followTasks(): Promise<void> {
    const { runtime, subscriptions } = this.#services;
    const connection = this.#connection;
    const { principal, streams } = connection;
    const ids = (await runtime.sessions?.tasksOf(streams.sessionKey ?? "", mostFollowed)) ?? [];
    for (const id of ids) {
      const following = firstKnown([core, sepGeneration] as const, async (generation) => {
        const requestor = { generation, principal };
        const created = await runtime.get(id, requestor, "unasked");
        streams.needs?.(created.task.requiredScopes);
        const { progressToken } = await runtime.originOf(id, requestor);
        subscriptions[generation].follow(created, requestor, { connection, progressToken, isTakenUp: true });
      });
      await following.catch((error: unknown) => {
        if (!isStopping(error)) this.#services.onError(error); // else the next process takes it up
      });
    }
  }

  amendmentFor({ method, params }: JSONRPCRequest): Amend | undefined {
    if (method === "initialize") return (result) => this.#initialized(result);
    if (method === "resources/templates/list" && this.#context.client.asksForLines)
      return (result) => withTemplates(result, params);
    if (method === setLevelMethod) return (result) => this.#logsFrom(params?.["level"], result);
    if (method !== "tools/list") return undefined;
    const { runtime, plain } = this.#services;
    const tools = { registry: runtime.registry, policies: plain.policies };
    return (result) => sessionTools(result, this.#context.client, tools);
  }

  received(message: JSONRPCNotification | JSONRPCResponse, extra?: MessageContext): boolean {
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#cancelled(message.params ?? {}, extra).catch((error: unknown) => {
        if (!isStopping(error)) this.#services.onError(error);
      });
    }
    return this.#connection.received(message);
  }

  /** Requests that are answered here are cancelled by their own signals; others may be of another process, or of an earlier one. */
  async #cancelled(params: JsonObject, extra?: MessageContext): Promise<void> {
    const { sep } = this.#context;
    const { requestId, reason } = params;
    const isId = typeof requestId === "string" || typeof requestId === "number";
    const isElsewhere = isId && !this.#open.delete(requestId);
    if (sep !== undefined) await cancelNamed(sep.session, params);
    if (!isElsewhere || this.#connection.streams.sessionKey === undefined) return;
    await this.#requests.cancelEarlier(requestId, reason, extra);
  }

  intercepts(answer: JSONRPCResponse): boolean {
    return this.#context.sep?.forwarded.intercepts(answer) === true;
  }

  answered(request: RequestId): void {
    this.#open.delete(request);
    this.#connection.ended(request);
  }

  connected(wire: Wire): void {
    this.#connection.connected(wire);
  }

  closed(): void {
    this.#connection.closed();
  }

  /** The author's server, which declares `logging`, has accepted the level. */
  #logsFrom(level: unknown, result: JsonObject): JsonObject {
    this.#connection.logLevel = logLevelOf(level);
    return result;
  }

  #initialized(result: JsonObject): JsonObject {
    const { protocolVersion } = result;
    if (typeof protocolVersion !== "string") return result;
    this.#connection.agreed(protocolVersion);
    const { registry, options } = this.#services.runtime;
    return initializeResult(result, {
      lists: this.#connection.principal !== null,
      keptMs: recognisedMsOfAsked(registry, options),
      sep: this.#context.sep !== undefined,
      serves: this.#context.serves,
      lines: this.#context.client.asksForLines,
    });
  }
}
