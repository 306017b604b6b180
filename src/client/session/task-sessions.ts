import type { StoredCall } from "../handles/handle-store.ts";
import { isUnknown, type Reply } from "../reply/reply.ts";
import { sessionHeader } from "../transport/recording-fetch.ts";
import type { RawRequestOptions } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { BoundedMap } from "./bounded-map.ts";

interface TaskSessionsOptions {
  readonly requester: Pick<RawRequester, "sessionId" | "origin">;
  /** The stored call of a task. */
  readonly storedCall: (taskId: string) => Promise<StoredCall | undefined>;
}

/** Options of messages about a task. */
type TaskMessageOptions = Pick<RawRequestOptions, "headers">;

/**
 * Tasks that are visible only in the session that created them, in an earlier process, while this connection has another session.
 * Requests about such a task are sent in its session instead of the connection's own.
 */
export class TaskSessions {
  readonly #options: TaskSessionsOptions;
  readonly #sessions = new BoundedMap<string>(10_000);

  constructor(options: TaskSessionsOptions) {
    this.#options = options;
  }

  /** Options for messages about the task. */
  of(taskId: string): TaskMessageOptions {
    const sessionId = this.#sessions.get(taskId);
    return sessionId === undefined ? {} : { headers: { [sessionHeader]: sessionId } };
  }

  /**
   * Sends a request about the task: in its session if that is known, or if the connection's own session does not know the task.
   * `mayFail`: an error can be the task's own, which no other session changes.
   */
  async ask<Value>(
    taskId: string,
    send: (options: TaskMessageOptions) => Promise<Reply<Value>>,
    { mayFail = false }: { readonly mayFail?: boolean } = {},
  ): Promise<Reply<Value>> {
    const options = this.of(taskId);
    const reply = await send(options);
    if (options.headers !== undefined && !isAnswered(reply) && !mayFail) {
      // The stored session may be gone: try the connection's own.
      this.#sessions.delete(taskId);
      return this.ask(taskId, send);
    }
    if (!isUnknown(reply) || !(await this.#find(taskId))) return reply;
    const retried = await send(this.of(taskId));
    if (isAnswered(retried)) return retried;
    this.#sessions.delete(taskId);
    return reply;
  }

  /** Finds the task's stored session. Resolves with false if there is none to try. */
  async #find(taskId: string): Promise<boolean> {
    const { requester, storedCall } = this.#options;
    if (requester.sessionId === undefined || this.#sessions.get(taskId) !== undefined) return false;
    const { sessionId, sessionOrigin } = (await storedCall(taskId)) ?? {};
    if (sessionId === undefined || sessionId === requester.sessionId) return false;
    if (sessionOrigin !== requester.origin) return false;
    this.#sessions.set(taskId, sessionId);
    return true;
  }
}

function isAnswered({ kind }: Reply<unknown>): boolean {
  return kind === "value" || kind === "lost";
}
