import type { JSONRPCNotification, JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { encodeCursor, type JsonObject, readCursor } from "../../../generation/message.ts";
import { errorReporter, type OnError } from "../../../runtime/error-reporter.ts";
import { HoldfastError, isUnknownTask, jsonRpcCodeOf } from "../../../task/fault.ts";
import type { JsonRpcError } from "../../../task/outcome.ts";
import type { RawRequester } from "../../transport/raw-requester.ts";
import type { ListPage, Requestor, Runtime } from "../../../runtime/runtime.ts";
import { Changes } from "../../../runtime/wait-for.ts";
import type { TaskRecord, TaskSnapshot } from "../../../task/record.ts";
import type { ReceiveTasksOptions } from "../../connect-options.ts";
import type { UserCallbacks } from "../../question/ask-user.ts";
import { RequestDeduplicator } from "../bounded-map.ts";
import { type Question, questionMethods } from "./question-tools.ts";
import type { SharedRuntime } from "./shared-runtime.ts";

export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/** The abort reason of a request that the server cancelled. */
export class RequestWithdrawn extends Error {
  override readonly name = "RequestWithdrawn";
}

/** A request that is not answered yet. */
interface PendingRequest {
  readonly controller: AbortController;
  /** Its session: the id is unique only there. */
  readonly session: number;
}

/** The server's requests that this client answers itself, instead of the SDK's client. */
class ReceivedRequests {
  readonly #requester: RawRequester;
  readonly #onError: OnError;
  readonly #pending = new Map<RequestId, PendingRequest>();
  readonly #afterAnswer = new Map<RequestId, () => void>();
  readonly #removeHandler: () => void;

  constructor(requester: RawRequester, onError: OnError | undefined) {
    this.#requester = requester;
    this.#onError = errorReporter(onError);
    this.#removeHandler = requester.handlers.onNotification((notification) =>
      this.#onNotification(notification),
    );
  }

  /** Aborts all requests without an answer. */
  close(): void {
    this.#removeHandler();
    for (const { controller } of this.#pending.values())
      controller.abort(new Error("The connection has ended"));
  }

  /** Runs `action` after the result of this request was sent. */
  afterResult(id: RequestId, action: () => void): void {
    this.#afterAnswer.set(id, action);
  }

  /** Answers with the result of `work`. Its signal aborts with `RequestWithdrawn`, or when the connection ends. */
  answer(id: RequestId, work: (signal: AbortSignal) => Promise<Answer>): void {
    const requester = this.#requester;
    const { session } = requester;
    const controller = new AbortController();
    const pending = { controller, session };
    this.#pending.set(id, pending);
    work(AbortSignal.any([controller.signal, requester.closed]))
      .catch((error: unknown): Answer => ({ error: this.#errorOf(error) }))
      .then(async (answer) => {
        // The server no longer waits for the answer.
        if (controller.signal.aborted || requester.closed.aborted || session !== requester.session) return;
        const message = "result" in answer ? { result: { ...answer.result } } : { error: answer.error };
        const { kind } = await requester.sendOnce({ jsonrpc: "2.0", id, ...message });
        if (kind === "value" && "result" in answer) this.#afterAnswer.get(id)?.();
      })
      .catch(() => undefined) // the connection is over
      .finally(() => {
        if (this.#pending.get(id) !== pending) return;
        this.#afterAnswer.delete(id);
        this.#pending.delete(id);
      });
  }

  /** Returns false: other handlers get it too. */
  #onNotification({ method, params }: JSONRPCNotification): boolean {
    const id = params?.["requestId"];
    if (method !== "notifications/cancelled" || (typeof id !== "string" && typeof id !== "number"))
      return false;
    const pending = this.#pending.get(id);
    if (pending?.session === this.#requester.session)
      pending.controller.abort(new RequestWithdrawn("The server withdrew the request"));
    return false;
  }

  #errorOf(thrown: unknown): JsonRpcError {
    if (thrown instanceof HoldfastError) {
      const code = jsonRpcCodeOf(thrown.code);
      const { message, data } = thrown;
      if (code !== -32603) return { code, message, ...(data !== undefined && { data }) };
    }
    if (!(thrown instanceof RequestWithdrawn) && !this.#requester.closed.aborted) this.#onError(thrown);
    return { code: -32603, message: "Internal error" };
  }
}

/** Waits until the task has ended. Rejects with `unknown_task` or the signal's reason. */
export async function untilFinished(
  runtime: Runtime,
  requestor: Requestor,
  id: string,
  signal: AbortSignal,
): Promise<TaskSnapshot> {
  const changes = new Changes();
  const stop = runtime.watch([id], changes.changed); // before reading, so that no change is missed
  try {
    for (;;) {
      changes.forget();
      const snapshot = await runtime.get(id, requestor);
      if (snapshot.task.finishedAt !== null) return snapshot;
      await changes.next(signal);
    }
  } finally {
    stop();
  }
}

/** The server's own task whose question the task is, by its id there. Rejects with `unknown_task`. */
export async function parentOf(
  { runtime, requestor }: { readonly runtime: Runtime; readonly requestor: Requestor },
  { id }: TaskRecord,
): Promise<string | undefined> {
  return (await runtime.originOf(id, requestor)).askedBy;
}

/** What `show` makes of each task, without those that were deleted meanwhile. */
export async function unlessDeleted<T>(
  records: readonly TaskRecord[],
  show: (record: TaskRecord) => Promise<T>,
): Promise<T[]> {
  const shown = await Promise.all(
    records.map(async (record) => {
      try {
        return [await show(record)];
      } catch (error) {
        if (isUnknownTask(error)) return [];
        throw error;
      }
    }),
  );
  return shown.flat(1);
}

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** A page of the server's tasks, newest first (C-072, C-073, S-046, S-047). Rejects with `invalid_params`. */
export async function listPage(
  runtime: Runtime,
  requestor: Requestor,
  params: JsonObject,
  part: Pick<ListPage, "scope"> = {},
): Promise<{ readonly records: readonly TaskRecord[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  const limit = pageSize + 1; // one more shows whether there is another page
  const found = await runtime.list(requestor, { ...part, limit, ...(after !== undefined && { after }) });
  const records = found.slice(0, pageSize);
  const last = found.length > pageSize ? records.at(-1) : undefined;
  return { records, nextCursor: last === undefined ? undefined : encodeCursor(last.id) };
}

/** What a receiver needs to run a server's questions as tasks on one connection. */
export interface ReceiverOptions {
  readonly requester: RawRequester;
  /** The server's name in this client. Its tasks are hidden from other servers (C-118, S-085). */
  readonly server: string;
  readonly callbacks: UserCallbacks;
  readonly options: ReceiveTasksOptions;
}

export interface ReceiverParts extends ReceiverOptions {
  readonly shared: SharedRuntime;
  readonly requests: ReceivedRequests;
  /** Called when the connection has ended. */
  readonly cleanups: Set<() => void>;
}

export type Work = (signal: AbortSignal) => Promise<Answer>;

/** How a generation lets a client run a server's questions as tasks. */
export interface ReceivedTasks {
  /** Answers a `tasks/*` request about such tasks; undefined for any other request. */
  aboutTask(request: JSONRPCRequest): Work | undefined;
  /** Answers a question that asks for a task; undefined for one that is answered as a plain request. */
  question(question: Question): Work | undefined;
}

export type MakeReceivedTasks = (parts: ReceiverParts) => ReceivedTasks;

/** Runs a server's questions as tasks in this client (it is the receiver of the tasks). */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #shared: SharedRuntime;
  readonly #requests: ReceivedRequests;
  readonly #tasks: ReceivedTasks;
  readonly #deduplicator = new RequestDeduplicator();
  readonly #cleanups: Set<() => void>;
  #closing: Promise<void> | undefined;

  constructor(options: ReceiverOptions, shared: SharedRuntime, makeTasks: MakeReceivedTasks) {
    const { requester, server, callbacks } = options;
    this.#options = options;
    this.#shared = shared;
    this.#requests = new ReceivedRequests(requester, options.options.onError);
    this.#cleanups = new Set([
      shared.responders.add(server, callbacks),
      requester.handlers.onRequest((request) => this.#onRequest(request)),
    ]);
    this.#tasks = makeTasks({ ...options, shared, requests: this.#requests, cleanups: this.#cleanups });
  }

  /** The tasks stay in the store, and continue when there is a connection to their server again. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const cleanup of this.#cleanups) cleanup();
    this.#requests.close();
    await this.#shared.release();
  }

  #onRequest(request: JSONRPCRequest): boolean {
    const { requester, callbacks } = this.#options;
    const { id, params = {} } = request;
    const about = this.#tasks.aboutTask(request);
    if (about !== undefined) {
      this.#requests.answer(id, about);
      return true;
    }
    const method = questionMethods.find((known) => known === request.method);
    // A question that was not declared as a task is answered as a plain one (C-028, S-009).
    if (method === undefined || !callbacks.declares({ method, params })) return false;
    const work = this.#tasks.question({ id, method, params });
    if (work === undefined) return false;
    // A duplicate of the message is no second question.
    if (this.#deduplicator.isFirst(id, requester.session)) this.#requests.answer(id, work);
    return true;
  }
}
