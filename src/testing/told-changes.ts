import type { TaskChange, TaskStore } from "../store/store.ts";

/** The changes that a store reports from now on, without gaps. */
export function changesOf(store: TaskStore): readonly TaskChange[] {
  const told: TaskChange[] = [];
  store.subscribe((changes) => {
    if (changes !== "gap") told.push(...changes);
  });
  return told;
}
