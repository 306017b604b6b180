import { sessionHeader } from "../transport/noted-fetch.ts";
import type { RawRequestOptions } from "../transport/raw-request.ts";
import type { RawRequester } from "../transport/raw-requester.ts";
import { Recent } from "./recent.ts";

interface TaskSessionsOptions {
  readonly requester: RawRequester;
  /** The id of the session that a task was made in, if it is kept. */
  readonly keptSession: (taskId: string) => Promise<string | undefined>;
}

/**
 * The tasks that can be seen only in the session that made them, which an earlier process has left. Requests about such a
 * task go out in that session, beside the connection's own.
 */
export class TaskSessions {
  readonly #options: TaskSessionsOptions;
  readonly #sessions = new Recent<string>(10_000);

  constructor(options: TaskSessionsOptions) {
    this.#options = options;
  }

  /** What a message about the task is to be sent with. */
  of(taskId: string): Pick<RawRequestOptions, "headers"> {
    const sessionId = this.#sessions.get(taskId);
    return sessionId === undefined ? {} : { headers: { [sessionHeader]: sessionId } };
  }

  /** Looks for a session of the task's own, which nobody has tried yet. */
  async find(taskId: string): Promise<boolean> {
    const { requester, keptSession } = this.#options;
    if (requester.sessionId === undefined || this.#sessions.get(taskId) !== undefined) return false;
    const sessionId = await keptSession(taskId);
    if (sessionId === undefined || sessionId === requester.sessionId) return false;
    this.#sessions.set(taskId, sessionId);
    return true;
  }

  /** The session is gone, or does not know the task either. */
  forget(taskId: string): void {
    this.#sessions.delete(taskId);
  }
}
