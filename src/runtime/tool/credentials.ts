import { HoldfastError } from "../../task/fault.ts";

/** What `authenticate` returned as `credentials`, by the task of the call: in memory only, until the task has ended. */
export class Credentials {
  readonly #byTask = new Map<string, unknown>();

  keep(taskId: string, credentials: unknown): void {
    if (credentials !== undefined) this.#byTask.set(taskId, credentials);
  }

  /** A task that another one made has those of that one. */
  share(taskId: string, child: string): void {
    this.keep(child, this.#byTask.get(taskId));
  }

  forget(taskId: string): void {
    this.#byTask.delete(taskId);
  }

  held(): Iterable<string> {
    return this.#byTask.keys();
  }

  /** Whether the task may have ended meanwhile: at its first version it was just made. */
  isBehind(taskId: string, version: number): boolean {
    return version > 1 && this.#byTask.has(taskId);
  }

  of(taskId: string): Promise<unknown> {
    return credentialsOf(this.#byTask.get(taskId));
  }
}

/** Rejects with `no_credentials` where there are none. */
export async function credentialsOf(credentials: unknown): Promise<unknown> {
  if (credentials !== undefined) return credentials;
  throw new HoldfastError(
    "no_credentials",
    "This process has no credentials for the call: authenticate returned none, another process took it, or the server was restarted " +
      "since. They are kept in memory only. Get new ones for task.caller.",
  );
}
