import type { TaskRecord } from "../../task/record.ts";
import type { TaskFilter } from "../store.ts";
import { SortedSet } from "./sorted-set.ts";

/** The ids of tasks by the filters of lists: with and without scope, and by generation alone. The newest come last. */
export class MemoryLists {
  readonly #lists = new Map<string, SortedSet<string>>();

  add(task: TaskRecord): void {
    for (const filter of filtersOf(task)) {
      const list = this.#lists.get(filter) ?? new SortedSet<string>(compareText);
      this.#lists.set(filter, list);
      list.add(task.id);
    }
  }

  delete(task: TaskRecord): void {
    for (const filter of filtersOf(task)) {
      const list = this.#lists.get(filter);
      list?.delete(task.id);
      if (list?.first() === undefined) this.#lists.delete(filter);
    }
  }

  /** Newest first, below the id `before`; null: from the newest. */
  newest(filter: TaskFilter, before: string | null): Iterable<string> {
    return this.#lists.get(nameOf(filter))?.below(before) ?? [];
  }
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function filtersOf({ generation, principal, scope }: TaskRecord): readonly string[] {
  const filters: TaskFilter[] = [{ generation, principal }, { generation }];
  if (scope !== "") filters.push({ generation, principal, scope }, { generation, scope });
  return filters.map(nameOf);
}

function nameOf({ generation, principal, scope }: TaskFilter): string {
  return JSON.stringify({ generation, principal, scope }); // undefined members are left out
}
