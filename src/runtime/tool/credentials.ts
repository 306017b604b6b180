import { HoldfastError } from "../../task/fault.ts";
import type { ReceivedRequest } from "./received-request.ts";

/** The parts of a call that are not stored. */
export interface CallExtras {
  /** What `authenticate` returned as `credentials`, for the handler. */
  readonly credentials?: unknown;
  /** The request itself, for a handler written for the SDK. */
  readonly received?: ReceivedRequest | undefined;
}

/** The unstored parts of calls, by task: in memory only, until the task has ended. */
export class Credentials {
  readonly #byTask = new Map<string, CallExtras>();

  keep(taskId: string, { credentials, received }: CallExtras = {}): void {
    if (credentials !== undefined || received !== undefined)
      this.#byTask.set(taskId, { credentials, received });
  }

  /** A task that another task made shares that one's. */
  share(taskId: string, child: string): void {
    this.keep(child, this.#byTask.get(taskId));
  }

  received(taskId: string): ReceivedRequest | undefined {
    return this.#byTask.get(taskId)?.received;
  }

  forget(taskId: string): void {
    this.#byTask.delete(taskId);
  }

  held(): Iterable<string> {
    return this.#byTask.keys();
  }

  /** Whether the task may have ended meanwhile: at its first version it was just created. */
  isBehind(taskId: string, version: number): boolean {
    return version > 1 && this.#byTask.has(taskId);
  }

  of(taskId: string): Promise<unknown> {
    return credentialsOf(this.#byTask.get(taskId)?.credentials);
  }
}

/** Rejects with `no_credentials` if there are none. */
export async function credentialsOf(credentials: unknown): Promise<unknown> {
  if (credentials !== undefined) return credentials;
  throw new HoldfastError(
    "no_credentials",
    "This process has no credentials for the call: authenticate returned none, another process took it, or the server was restarted " +
      "since. They are kept in memory only. Get new ones for task.caller.",
  );
}
