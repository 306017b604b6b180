import type { JSONRPCNotification } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import {
  directAnswer,
  isUnknown,
  type LostReply,
  readReply,
  readToolResult,
  type Reply,
} from "../reply/reply.ts";
import type { SentRequest } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { idempotencyMeta } from "../../generation/extensions.ts";
import {
  relatedTaskOf,
  type RequestMethod,
  requestMethods,
  withRelatedTask,
  withTask,
} from "../../generation/sep-1686.ts";
import { unlessAborted } from "../background-work.ts";
import type { ClientClock } from "../clock.ts";
import type { CallAnswer, ReadAnswer, ReadRequest, ToolCall } from "../task-protocol.ts";

/** A request that may become a task, until its task has ended. */
interface OpenCall {
  readonly method: string;
  readonly reply: Promise<Reply<JsonObject>>;
  /** Resolves when any message of the server shows that the task exists. */
  readonly created: Promise<void>;
  readonly request: SentRequest;
  /** All requests for this task id, the newest last. Any of them may have created the task. */
  readonly requests: readonly SentRequest[];
  /** Why there will be no answer. */
  readonly lost: LostReply | undefined;
}

interface Call extends OpenCall {
  readonly drop: AbortController;
  readonly create: () => void;
  lost: LostReply | undefined;
}

/** The requests of this client that may become tasks, by task id. */
class OpenCalls {
  readonly #requester: RawRequester;
  readonly #calls = new Map<string, Call>();

  constructor(requester: RawRequester) {
    this.#requester = requester;
  }

  get(taskId: string): OpenCall | undefined {
    return this.#calls.get(taskId);
  }

  /** Sends a request, and drops an earlier one for the same task id. */
  open(taskId: string, method: string, params: JsonObject): OpenCall {
    this.#requester.closed.throwIfAborted();
    const drop = new AbortController();
    const { promise: created, resolve: create } = Promise.withResolvers<void>();
    const { promise: reply, resolve, reject } = Promise.withResolvers<Reply<JsonObject>>();
    let call: Call | undefined;
    const onSent = (request: SentRequest): void => {
      const earlier = this.#calls.get(taskId);
      const requests = [...(earlier?.requests ?? []), request];
      call = { method, reply, created, request, requests, lost: undefined, drop, create };
      earlier?.drop.abort(new Error("The request was sent again"));
      // Registered before it is sent: a message about it may arrive at once.
      this.#calls.set(taskId, call);
    };
    const options = { onSent, afterAbort: { kind: "caller" } } as const;
    this.#requester.request(method, params, drop.signal, options).then((received) => {
      if (call !== undefined && received.kind === "lost") call.lost = received;
      resolve(received);
    }, reject);
    reply.catch(() => undefined); // dropped, or the connection has ended
    const opened = this.#calls.get(taskId);
    if (opened === undefined) throw new Error(`${method} was not sent`);
    return opened;
  }

  /** Records that the task exists. Returns the method of its request, if there is one. */
  markCreated(taskId: string | undefined): string | undefined {
    const call = taskId === undefined ? undefined : this.#calls.get(taskId);
    call?.create();
    return call?.method;
  }

  /** The answer is no longer needed. */
  drop(taskId: string): void {
    const call = this.#calls.get(taskId);
    this.#calls.delete(taskId);
    call?.drop.abort(new Error("The request has ended"));
  }
}

interface SepCallsOptions {
  readonly requester: RawRequester;
  readonly clock: ClientClock;
  /** Whether the server declares that such requests become tasks. Others may do so too. */
  readonly declared: (method: RequestMethod) => boolean;
  /** Reads a task once. */
  readonly getTask: (taskId: string, signal: AbortSignal) => Promise<Reply<unknown>>;
  /** Called when a call became a task. */
  readonly onTask: (taskId: string) => void;
  /** Called with the answer to the call of such a task. */
  readonly onAnswer: (taskId: string, answer: Reply<JsonObject>) => void;
}

/** A request that can become a task. */
interface TaskRequest extends Pick<ToolCall, "repeat" | "findsAgain" | "onLate"> {
  readonly method: RequestMethod;
  readonly params: JsonObject;
  readonly taskId: string;
  readonly keepAliveMs: number | undefined;
}

/**
 * The calls and reads of this client, by the id of the task that each may become: for a call, its idempotency key
 * (S-006, S-021).
 */
export class SepCalls {
  readonly #options: SepCallsOptions;
  readonly #calls: OpenCalls;
  /** Methods whose requests become tasks on this server. */
  readonly #taskMethods: Set<string>;

  constructor(options: SepCallsOptions) {
    const { requester, declared } = options;
    this.#taskMethods = new Set(requestMethods.filter((method) => declared(method)));
    this.#options = options;
    this.#calls = new OpenCalls(requester);
    requester.handlers.onNotification((notification) => this.#onMessage(notification));
    requester.handlers.onRequest((request) => this.#onMessage(request));
  }

  /**
   * The requests of the current session that may have created the task. Ids are valid only within a session
   * (S-063).
   */
  requestsOf(taskId: string): readonly SentRequest[] {
    const sent = this.#calls.get(taskId)?.requests ?? [];
    return sent.filter(({ session }) => session === this.#options.requester.session);
  }

  /** The answer to the call is no longer needed. */
  drop(taskId: string): void {
    this.#calls.drop(taskId);
  }

  async start(call: ToolCall, signal: AbortSignal): Promise<Reply<CallAnswer>> {
    const { name, args, idempotencyKey: taskId, repeat, progressToken, ttlMs: keepAliveMs } = call;
    const _meta = {
      ...(progressToken !== undefined && { progressToken }),
      // For servers without these tasks that recognise repeated calls.
      ...idempotencyMeta(taskId, repeat),
    };
    const params = { name, arguments: args, _meta };
    const begun = await this.#begin({ ...call, method: "tools/call", params, taskId, keepAliveMs }, signal);
    return readReply(begun, (answer) => {
      if (answer === "created") return { kind: "task", taskId, task: undefined };
      return directAnswer(readToolResult(answer));
    });
  }

  async read(request: ReadRequest, signal: AbortSignal): Promise<Reply<ReadAnswer>> {
    // No other client knows the task's id.
    const once = { ...request, findsAgain: false, onLate: undefined };
    const begun = await this.#begin(once, signal);
    return readReply(begun, (answer) =>
      answer === "created" ? { kind: "task" } : { kind: "result", result: answer },
    );
  }

  async #begin(call: TaskRequest, signal: AbortSignal): Promise<Reply<JsonObject | "created">> {
    const { clock, getTask } = this.#options;
    const { taskId } = call;
    if (call.repeat) {
      const found = await getTask(taskId, signal);
      if (found.kind === "value") return created;
      if (found.kind !== "error") return found;
      const refusal = this.#whyNotRepeatable(call);
      if (refusal !== undefined) return { kind: "bad", code: "connection", isFinal: true, ...refusal };
    }
    const open = this.#send(call);
    const services = { clock, getTask: async (until: AbortSignal) => getTask(taskId, until) };
    const first = await waitForStart(open, services, signal).catch((error: unknown) => {
      if (signal.aborted) this.#giveUp(call, open);
      throw error;
    });
    if (first === "created") {
      this.#followTask(taskId, open);
      return created;
    }
    if (isUnknown(first) && (call.repeat || call.findsAgain)) {
      // The id may be in use by this very call, which was sent before, here or by another client.
      if ((await getTask(taskId, signal)).kind === "value") return created;
    }
    if (first.kind !== "lost") this.#calls.drop(taskId);
    return first;
  }

  #send({ method, params, taskId, keepAliveMs }: TaskRequest): OpenCall {
    const task = { taskId, ...(keepAliveMs !== undefined && { keepAliveMs }) };
    return this.#calls.open(taskId, method, withTask(params, task));
  }

  /**
   * Why a call without a visible task cannot be sent again: only the session that sent it is certain to show its
   * task.
   */
  #whyNotRepeatable({
    taskId,
    method,
  }: TaskRequest): { readonly message: string; readonly cause?: unknown } | undefined {
    const before = this.#calls.get(taskId);
    const isHere = before?.request.session === this.#options.requester.session;
    if (isHere && this.#taskMethods.has(method)) return undefined;
    const { message = "The call was never answered", cause } = before?.lost ?? {};
    return {
      message: `${message}; the server shows no task for the call, so sending it again could run it twice`,
      cause,
    };
  }

  /** The caller gave up the call. A task that can be found again runs on; otherwise the call is cancelled. */
  #giveUp({ taskId, method, findsAgain, onLate }: TaskRequest, open: OpenCall): void {
    if (findsAgain && this.#taskMethods.has(method)) {
      void open.created.then(() => onLate?.({ kind: "task", taskId, task: undefined }));
      this.#followTask(taskId, open);
      return;
    }
    const { requester } = this.#options;
    if (!requester.closed.aborted && open.request.session === requester.session) {
      void requester.sendOnce(
        cancelledNotification(open.request.id, taskId, "The caller no longer waits for the answer"),
      );
    }
    this.#calls.drop(taskId);
  }

  /** The answer to the call ends the task, whatever polls have shown (S-015, S-016). */
  #followTask(taskId: string, { reply }: OpenCall): void {
    const { onTask, onAnswer } = this.#options;
    onTask(taskId);
    reply.then(
      (answer) => onAnswer(taskId, answer),
      () => undefined, // dropped, or the connection has ended
    );
  }

  /** Any message that names the task of a call shows that it became one. Returns false: other handlers get it too. */
  #onMessage({ params }: Pick<JSONRPCNotification, "params">): boolean {
    const method = this.#calls.markCreated(relatedTaskOf(params));
    if (method !== undefined) this.#taskMethods.add(method);
    return false;
  }
}

const created: Reply<"created"> = { kind: "value", value: "created" };

/** Cancels a request, and the task that it created (S-063). */
export function cancelledNotification(requestId: string, taskId: string, reason: string) {
  const params = withRelatedTask({ requestId, reason }, taskId);
  return { jsonrpc: "2.0" as const, method: "notifications/cancelled", params };
}

interface StartServices {
  readonly clock: ClientClock;
  /** Reads the task once. */
  readonly getTask: (signal: AbortSignal) => Promise<Reply<unknown>>;
}

/**
 * Waits for the first of: the answer to a call, or a message that it became a task (S-016). If that message is
 * lost, the answer comes later (S-019). Rejects with the reason of the signal or of the connection's end.
 */
export async function waitForStart(
  call: OpenCall,
  { clock, getTask }: StartServices,
  signal: AbortSignal,
): Promise<Reply<JsonObject> | "created"> {
  signal.throwIfAborted();
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const { promise: found, resolve: find } = Promise.withResolvers<"created">();
  probeForTask(call, async () => getTask(either), clock, either).then(
    (isThere) => isThere && find("created"),
    () => undefined, // the call was answered first
  );
  try {
    const begun = Promise.race([call.reply, call.created.then(() => "created" as const), found]);
    return await unlessAborted(begun, signal);
  } finally {
    over.abort(new Error("The call was answered"));
  }
}

const firstMs = 1_000;

/** With doubling pauses, the last probe is after two minutes: a call that is no task by then will not become one. */
const maxProbes = 7;

/**
 * Probes for the task of a call over HTTP that has no stream, since the server answers with plain JSON and cannot
 * announce the task (S-018). Resolves with true once the task exists, and with false if probing is no longer
 * useful.
 */
export async function probeForTask(
  { request }: OpenCall,
  getTask: () => Promise<Reply<unknown>>,
  clock: ClientClock,
  signal: AbortSignal,
): Promise<boolean> {
  for (let probes = 0; probes < maxProbes; probes++) {
    if (request.streams) return false; // the server announces the task on the stream (S-017)
    await clock.sleep(firstMs * 2 ** probes, signal);
    if (request.streams) return false;
    const found = await getTask();
    if (found.kind === "value") return true;
    if (found.kind === "bad" || (found.kind === "error" && !isUnknown(found))) return false;
  }
  return false;
}
