import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { InputRequest, InputResult, OnInput } from "../../client/question/ask-user.ts";
import type { ElicitParams, JsonForm } from "../../runtime/questions/form.ts";
import { foreignForm, hasMark, peopleOnly } from "../../runtime/questions/questions.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";

/** Asks whoever waits for a call. */
export type Asker = (request: InputRequest) => Promise<InputResult>;

/**
 * The questions of a server to the callers of its tools. A connection has one `onInput` for all its calls: this finds the call that a question
 * belongs to, so that no user is asked what another's call needs to know.
 */
export class RelayedQuestions {
  /** By the id of the task at the server. */
  readonly #tasks = new Map<string, Asker>();
  /** The calls that the server has not answered yet. */
  readonly #calls = new Set<Asker>();
  /**
   * Those of this connection that ended without an answer, such as by a cancel: the server may work on, and ask. Two are enough to know that it
   * cannot be told whose question it is.
   */
  #abandoned = new Set<Asker>();
  readonly #current = new AsyncLocalStorage<Asker>();
  readonly #onError: (error: unknown) => void;

  /** `onError` receives why a question was put to nobody. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** For `connect`. */
  readonly onInput: OnInput = async (request) => {
    const isOutside = request.taskId === null && this.#calls.size === 0;
    if (isOutside && request.method === "roots/list") return { roots: [] }; // those of callers are asked for in their calls
    return this.#askerOf(request)(request);
  };

  /** Questions while `call` goes on, which has no task yet, are put to `ask`. */
  async duringCall<T>(ask: Asker, call: () => Promise<T>): Promise<T> {
    const abandoned = this.#abandoned;
    this.#calls.add(ask);
    try {
      return await this.#current.run(ask, call);
    } catch (error) {
      if (!isAnswered(error) && abandoned.size < 2) abandoned.add(ask);
      throw error;
    } finally {
      this.#calls.delete(ask);
    }
  }

  /** Call it when the connection has ended, with which all calls end that the server could ask for. */
  connectionEnded(): void {
    this.#abandoned = new Set();
  }

  /** Questions of the task are put to `ask` while `wait` goes on. */
  async duringTask<T>(taskId: string, ask: Asker, wait: () => Promise<T>): Promise<T> {
    this.#tasks.set(taskId, ask);
    try {
      return await wait();
    } finally {
      if (this.#tasks.get(taskId) === ask) this.#tasks.delete(taskId);
    }
  }

  #askerOf({ taskId, method }: InputRequest): Asker {
    const ask = taskId === null ? this.#ofCall() : this.#tasks.get(taskId);
    if (ask !== undefined) return ask;
    const { size } = this.#candidates;
    const error = new Error(
      size > 1 && taskId === null
        ? `The server asked for ${method}, and did not say for which of ${size} calls, some of which may have been cancelled; set connections to "call", so that each has its own`
        : `The server asked for ${method}, and no call waits that it could belong to`,
    );
    this.#onError(error);
    throw error;
  }

  /** Since 2026-07-28 questions come in the answer to a call. Before, they only come while it runs. */
  #ofCall(): Asker | undefined {
    const current = this.#current.getStore();
    if (current !== undefined && this.#calls.has(current)) return current;
    const [only] = this.#calls;
    return this.#candidates.size === 1 ? only : undefined;
  }

  /** The calls that a question without a task may belong to. */
  get #candidates(): ReadonlySet<Asker> {
    return new Set([...this.#calls, ...this.#abandoned]);
  }
}

/** Whether the server has answered the call, with an error or with a task, so that no question without a task is left of it. */
function isAnswered(error: unknown): boolean {
  return error instanceof TaskClientError && (error.error !== undefined || error.taskId !== undefined);
}

/** A question as the caller's client gets it: without what only concerns the connection to the server. Models answer no more than they may there. */
export function relayedParams<Params extends object>(params: Params): Omit<Params, "_meta" | "task"> {
  const {
    _meta,
    task: _,
    ...rest
  } = params as Params & { readonly _meta?: unknown; readonly task?: unknown };
  const marks = {
    ...(hasMark({ _meta }, peopleOnly) && { [peopleOnly]: true }),
    ...("requestedSchema" in rest && { [foreignForm]: true }),
  };
  return Object.keys(marks).length === 0 ? rest : { ...rest, _meta: marks };
}

/**
 * Asks the caller of a task. A question is named in the journal by what it says, and by how often that was asked: servers ask again when a
 * connection broke, and a call that is made again asks again. What was answered then is not asked again.
 */
export function askerOf(task: TaskContext, key: string): Asker {
  const inHandler = AsyncLocalStorage.snapshot(); // not within a step, where nothing can be asked
  const open = new Map<string, Promise<InputResult>>();
  const times = new Map<string, number>();
  return async (request) => {
    const id = JSON.stringify([request.taskId, request.key]);
    const asked = open.get(id) ?? inHandler(() => ask(request));
    open.set(id, asked);
    return asked.finally(() => open.delete(id));
  };

  async function ask(request: InputRequest): Promise<InputResult> {
    const { method } = request;
    const text = JSON.stringify([method, relayedParams(request.params)]);
    const digest = createHash("sha256").update(text).digest("base64url").slice(0, 16);
    const time = times.get(digest) ?? 0;
    times.set(digest, time + 1);
    const name = [key, "question", digest, time];
    switch (method) {
      case "elicitation/create":
        return task.elicit<JsonForm>(name, relayedParams(request.params) as ElicitParams);
      case "sampling/createMessage":
        return task.sample(name, relayedParams(request.params));
      case "roots/list":
        return task.roots(name).catch(() => ({ roots: [] })); // a client that has none does not say so
    }
  }
}
