import type { TaskRequest } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import type { StoredTask } from "./stored-task.ts";

/** Tasks by the session of their requests. */
export class MemorySessionTasks {
  readonly #stored: ReadonlyMap<string, StoredTask>;
  readonly #ids = new Map<string, Set<string>>();

  constructor(stored: ReadonlyMap<string, StoredTask>) {
    this.#stored = stored;
  }

  add(id: string, { origin: { session } }: TaskRequest): void {
    if (session !== undefined) this.#ids.set(session, (this.#ids.get(session) ?? new Set()).add(id));
  }

  delete(id: string, { origin: { session = "" } }: TaskRequest): void {
    this.#ids.get(session)?.delete(id);
    if (this.#ids.get(session)?.size === 0) this.#ids.delete(session);
  }

  /** Like `SessionStore.tasksOf`. */
  of(session: string, limit: number, requestId?: string | number): readonly string[] {
    const ids = [...(this.#ids.get(session) ?? [])].toSorted().toReversed();
    const isMeant = (id: string): boolean => {
      const stored = this.#stored.get(id);
      if (stored === undefined) return false;
      return requestId === undefined
        ? !isTerminal(stored.record.state)
        : stored.request.origin.requestId === requestId;
    };
    return ids.filter(isMeant).slice(0, limit);
  }
}
