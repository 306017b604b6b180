import { encodeJournalKey, type JournalKey } from "../task/journal.ts";

/** How often the functions of steps ran, over all processes. */
export class StepRuns {
  /** By task and encoded key. */
  readonly #runs = new Map<string, Map<string, number>>();

  add(taskId: string, key: string): void {
    const runs = this.#runs.get(taskId) ?? new Map<string, number>();
    this.#runs.set(taskId, runs.set(key, (runs.get(key) ?? 0) + 1));
  }

  /** For one task, or for all. */
  count(key: JournalKey, taskId?: string): number {
    const tasks = taskId === undefined ? [...this.#runs.keys()] : [taskId];
    const encoded = encodeJournalKey(key);
    return tasks.reduce((sum, id) => sum + (this.#runs.get(id)?.get(encoded) ?? 0), 0);
  }
}
