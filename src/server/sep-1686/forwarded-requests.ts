import {
  type JSONRPCRequest,
  type JSONRPCResponse,
  ProtocolError,
  type RequestId,
} from "@modelcontextprotocol/server";
import type { JsonObject } from "../../generation/message.ts";
import {
  createdNotification,
  generation,
  readTaskParams,
  relatedTaskOf,
  requestAnswer,
} from "../../generation/sep-1686.ts";
import type { Runtime, TaskCall } from "../../runtime/runtime.ts";
import { HoldfastError, isUnknownTask, unknownTask } from "../../task/fault.ts";
import { whenAborted } from "../../runtime/wait-for.ts";
import { refusedAsTask, scopeOf } from "../plain/plain-policies.ts";
import type { TaskSession } from "../sessions/task-session.ts";
import type { OtherRequest, Registry } from "../../runtime/tool/registry.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { taskId } from "../../task/record-changes.ts";
import { type Answer, answerOf, progressTokenOf, type ToolRequest } from "../request.ts";
import { answerWithTask, type CalledTool, taskCallOf } from "../waiting-call.ts";
import type { DispatchContext } from "../dispatch/dispatch-transport.ts";
import type { TaskSnapshot } from "../../task/record.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import { validateArguments } from "../../runtime/tool/tool-outcome.ts";

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
export function cancelTask(session: SepSession, id: string): Promise<void> {
  return cancelling(session, async () => id);
}

/**
 * Cancels the task whose request a `notifications/cancelled` names, if it also names the task, and the request id matches: the task may be
 * from an earlier connection or process (S-061, S-063). A request of this connection is cancelled by its own signal.
 */
export async function cancelNamed(session: SepSession, cancelled: JsonObject): Promise<void> {
  const related = relatedTaskOf(cancelled);
  if (related === undefined) return;
  await cancelling(session, async () => {
    const id = await session.find(related);
    const { requestId } = await session.runtime.originOf(id, session.requestor);
    return requestId === cancelled["requestId"] ? id : undefined;
  });
}

async function cancelling(session: SepSession, find: () => Promise<string | undefined>): Promise<void> {
  const { cancels, runtime, requestor } = session;
  const cancel = async (): Promise<void> => {
    try {
      const id = await find();
      if (id !== undefined) await runtime.cancelNow(id, requestor);
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
    }
  };
  const work = cancel();
  cancels.add(work);
  try {
    await work;
  } finally {
    cancels.delete(work);
  }
}

/** Forwards the request of a task to the author's server; the signal aborts when the task is cancelled. */
type Forward = (signal: AbortSignal) => Promise<object>;

const methods: readonly OtherRequest[] = ["resources/read", "prompts/get"];

/**
 * Runs the tasks whose requests an author's server answers. That server belongs to the connection of the request and cannot be
 * made again, so a task whose connection ended fails.
 */
export class RequestForwarder {
  /** By task. */
  readonly #forwards = new Map<string, Forward>();

  constructor(registry: Registry) {
    for (const method of methods) registry.addOther(method, (_params, task) => this.#run(method, task));
  }

  /** Runs the task of this id with `forward`; returns a function that removes it. */
  add(task: string, forward: Forward): () => void {
    this.#forwards.set(task, forward);
    return () => this.#forwards.delete(task);
  }

  async #run(method: OtherRequest, { id, signal }: TaskContext): Promise<object> {
    const forward = this.#forwards.get(id);
    if (forward !== undefined) return forward(signal);
    throw new HoldfastError(
      "internal",
      `The connection that sent this ${method} request has closed, and no other can answer it. Send the request again as a new task.`,
    );
  }
}

/**
 * The requests of one connection that the author's server answers inside a task: the SDK gets such a request when its task
 * runs, and the SDK's answer becomes the outcome of the task.
 */
export class ForwardedRequests {
  readonly #session: SepSession;
  readonly #forwarder: RequestForwarder;
  /** The SDK's answers, by request. */
  readonly #answers = new Map<RequestId, PromiseWithResolvers<object>>();

  constructor(session: SepSession, forwarder: RequestForwarder) {
    this.#session = session;
    this.#forwarder = forwarder;
  }

  /** Answers a request with the outcome of a task of its own; rejects as `answerAsTask` does. */
  async answer(
    { id, params = {}, ...message }: JSONRPCRequest,
    method: OtherRequest,
    { signal, forward, trace }: DispatchContext,
  ): Promise<Answer> {
    if (this.#answers.has(id)) {
      // The SDK's answers to the two could not be told apart, and one of the tasks would never end.
      throw new HoldfastError(
        "invalid_request",
        "An earlier request with this id has not been answered yet.",
      );
    }
    const answer = Promise.withResolvers<object>();
    answer.promise.catch(() => undefined);
    const forget = (): void => {
      if (this.#answers.get(id) === answer) this.#answers.delete(id); // a newer request may use the id of a cancelled one
    };
    this.#answers.set(id, answer);
    signal.addEventListener("abort", forget, { once: true });
    const { clock } = this.#session.runtime;
    const task = taskId(clock.now(), (size) => clock.randomBytes(size));
    const remove = this.#forwarder.add(task, (cancelled) =>
      this.#forward({ ...message, id, params }, { answer, forward, cancelled }),
    );
    const { _meta, ...asked } = params;
    const work = { id: task, method, arguments: asked };
    try {
      return await answerAsTask({ name: method }, work, { id, params, signal, trace }, this.#session);
    } finally {
      signal.removeEventListener("abort", forget);
      forget();
      remove();
    }
  }

  /** Whether an answer of the SDK is that to a forwarded request, and must not be sent. */
  intercepts(message: JSONRPCResponse): boolean {
    const answer = message.id === undefined ? undefined : this.#answers.get(message.id);
    if (message.id === undefined || answer === undefined) return false;
    this.#answers.delete(message.id);
    if ("result" in message) answer.resolve(message.result);
    else answer.reject(new ProtocolError(message.error.code, message.error.message, message.error.data));
    return true;
  }

  async #forward(
    request: JSONRPCRequest,
    {
      answer,
      forward,
      cancelled,
    }: Pick<DispatchContext, "forward"> & { answer: PromiseWithResolvers<object>; cancelled: AbortSignal },
  ): Promise<object> {
    const { closing } = this.#session.connection;
    cancelled.throwIfAborted();
    const stops = [
      whenAborted(cancelled, () => {
        forward({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: request.id } });
        answer.reject(cancelled.reason);
      }),
      whenAborted(closing, () =>
        answer.reject(new HoldfastError("internal", "The connection that sent the request has closed.")),
      ),
    ];
    try {
      if (!closing.aborted) forward(request);
      return await answer.promise;
    } finally {
      for (const stop of stops) stop();
    }
  }
}

/** Throws the fault of a call that asks for a task, before its arguments are validated. */
export function refuseCall(params: JsonObject, tool: Tool, capabilities: JsonObject): void {
  readTaskParams(params);
  const refusal = refusedAsTask(tool, capabilities);
  if (refusal !== undefined) throw refusal;
}

/** Answers a call that asks for a task with the outcome of the task; rejects as `answerAsTask` does. */
export async function callTool(tool: Tool, request: ToolRequest, session: SepSession): Promise<Answer> {
  const args = request.params["arguments"];
  const validated = await validateArguments(tool, args);
  if (!validated.ok) return answerOf(validated.outcome);
  const prepares = tool.prepare === undefined ? {} : { prepareInTask: true as const };
  return answerAsTask(tool, prepares, request, session);
}

/**
 * Creates the task that a request asks for, announces it, and answers with its outcome when it has ended, as if there were no task (S-011
 * to S-015). If the client disconnects, the task continues; if it cancels the request, the task is cancelled (S-063). Rejects with
 * `wire_id_taken` for an id that is in use, as `create` does, and with the reason of the signal.
 */
async function answerAsTask(
  tool: CalledTool,
  work: Partial<TaskCall>,
  request: ToolRequest,
  session: SepSession,
): Promise<Answer> {
  const { id, params } = request;
  const { runtime, connection, requestor, scope } = session;
  const { capabilities, streams } = connection;
  const asked = readTaskParams(params);
  if (asked === undefined) throw new HoldfastError("internal", "The request asks for no task.");
  const { taskId: wireId, keepAliveMs } = asked;
  const ttl = keepAliveMs === undefined ? {} : { ttlMs: keepAliveMs };
  const sender = { requestor, capabilities, session: streams.sessionKey };
  const terms = { scope, wireId, keepAlive: true, queued: true, ...ttl, ...work } as const;
  const call = { ...taskCallOf(runtime.registry, tool, request, sender), ...terms };
  return answerWithTask(runtime, call, request, {
    async answer(created) {
      const announcement = createdNotification(wireId);
      await connection.deliver(announcement.method, announcement.params, id);
      return answerAtEnd(created, request, session);
    },
  });
}

/** Answers a request with the outcome of its task when that has ended; rejects with the reason of the signal. */
export async function answerAtEnd(
  created: TaskSnapshot,
  { id, params, signal, trace, reserve }: ToolRequest,
  session: SepSession,
): Promise<Answer> {
  trace?.about(created.task.id);
  const { subscriptions, connection, requestor } = session;
  const progressToken = progressTokenOf(params);
  const failed = new AbortController();
  // After a cancel, wait on until the task has ended: else its questions would be asked again on another stream.
  const stop = whenAborted(signal, () => {
    if (connection.closing.aborted) return;
    cancelTask(session, created.task.id).catch((error: unknown) => failed.abort(error));
  });
  try {
    // If the stream of the request breaks, questions use another one of the connection.
    if (!signal.aborted) subscriptions.follow(created, requestor, { connection, progressToken: undefined });
    const over = AbortSignal.any([connection.closing, connection.lost(id, signal), failed.signal]);
    const wait = { connection, request: id, signal: over, progressToken, reserve };
    const finished = await subscriptions.finished(created.task.id, requestor, wait);
    signal.throwIfAborted();
    return requestAnswer(finished);
  } catch (error) {
    if (!failed.signal.aborted) signal.throwIfAborted();
    throw error;
  } finally {
    stop();
  }
}
