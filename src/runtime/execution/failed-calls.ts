import { isTerminal } from "../../task/outcome.ts";
import type { Origin, TaskRecord } from "../../task/record.ts";
import type { TaskStore } from "../../store/store.ts";

/**
 * The calls that failed before, which those of this run take up.
 * - They are those of earlier runs of its handler, and of the tasks that its task takes up, for as long as these are kept.
 * - The newest of a call counts, if its arguments were the same: it has taken up those before it.
 */

const atOnce = 500;

/** Each link is a retry by an operator. */
const mostTasks = 100;

interface CallingTask {
  readonly record: Pick<TaskRecord, "id" | "failures">;
  readonly origin: Origin;
}

export class FailedCalls {
  readonly #store: Pick<TaskStore, "admin" | "request">;
  readonly #task: CallingTask;
  #ids: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(store: Pick<TaskStore, "admin" | "request">, task: CallingTask) {
    this.#store = store;
    this.#task = task;
  }

  /** The id of the task of the call, if it failed; `hash` is that of its tool and arguments. */
  async of(key: string, hash: string): Promise<string | undefined> {
    const { record, origin } = this.#task;
    if (record.failures === 0 && takenUpBy(origin) === undefined) return undefined;
    this.#ids ??= this.#read().catch((error: unknown) => {
      this.#ids = undefined; // it is read again
      throw error;
    });
    return (await this.#ids).get(placeOf(key, hash));
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>();
    const { record, origin } = this.#task;
    if (record.failures > 0) await this.#readCallsOf(record.id, ids);
    let next = takenUpBy(origin);
    for (let count = 0; next !== undefined && count < mostTasks; count++) {
      await this.#readCallsOf(next, ids);
      const request = await this.#store.request(next);
      next = request && takenUpBy(request.origin);
    }
    return ids;
  }

  async #readCallsOf(parent: string, ids: Map<string, string>): Promise<void> {
    for (let before: string | null | undefined = null; before !== undefined;) {
      const page: readonly TaskRecord[] =
        (await this.#store.admin?.tasks({ of: "children", parent }, before, atOnce)) ?? [];
      for (const child of page) {
        if (!isTerminal(child.state) || child.parent === null) continue;
        const place = placeOf(child.parent.key, child.requestHash);
        if (!ids.has(place)) ids.set(place, child.id);
      }
      before = page.length < atOnce ? undefined : page.at(-1)?.id;
    }
  }
}

function takenUpBy({ takesUp, retryOf }: Origin): string | undefined {
  return takesUp === true ? retryOf : undefined;
}

function placeOf(key: string, hash: string): string {
  return `${hash} ${key}`;
}
