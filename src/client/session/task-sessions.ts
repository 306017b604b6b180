import { sessionHeader } from "../transport/recording-fetch.ts";
import type { RawRequestOptions } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { BoundedMap } from "./bounded-map.ts";

interface TaskSessionsOptions {
  readonly requester: RawRequester;
  /** The id of the session that created a task, if it is stored. */
  readonly storedSession: (taskId: string) => Promise<string | undefined>;
}

/**
 * Tasks that are visible only in the session that created them, in an earlier process. Requests about such a task
 * are sent in that session instead of the connection's own.
 */
export class TaskSessions {
  readonly #options: TaskSessionsOptions;
  readonly #sessions = new BoundedMap<string>(10_000);

  constructor(options: TaskSessionsOptions) {
    this.#options = options;
  }

  /** Options for messages about the task. */
  of(taskId: string): Pick<RawRequestOptions, "headers"> {
    const sessionId = this.#sessions.get(taskId);
    return sessionId === undefined ? {} : { headers: { [sessionHeader]: sessionId } };
  }

  /** Finds the task's stored session. Resolves with false if there is none to try. */
  async find(taskId: string): Promise<boolean> {
    const { requester, storedSession } = this.#options;
    if (requester.sessionId === undefined || this.#sessions.get(taskId) !== undefined) return false;
    const sessionId = await storedSession(taskId);
    if (sessionId === undefined || sessionId === requester.sessionId) return false;
    this.#sessions.set(taskId, sessionId);
    return true;
  }

  /** Call it if the session is gone, or does not know the task either. */
  forget(taskId: string): void {
    this.#sessions.delete(taskId);
  }
}
