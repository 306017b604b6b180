import type { TaskChange, TaskStore } from "../store/store.ts";

/** What a store tells from now on, gaps left out: those tell nothing. */
export function changesOf(store: TaskStore): readonly TaskChange[] {
  const told: TaskChange[] = [];
  store.subscribe((changes) => {
    if (changes !== "gap") told.push(...changes);
  });
  return told;
}
