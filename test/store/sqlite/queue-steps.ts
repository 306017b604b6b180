import type { TaskStore } from "../../../src/store/store.ts";
import { aHandler } from "../../../src/testing/sample-task.ts";
import { noon } from "../../contract/sample-task.ts";

// What a runtime does with the queue of a store, for tests in which some of it cannot be read.

export const handlers = [aHandler];

/** Gives back what owners left that are gone, as a runtime does, and resolves with what each reclaim came to. */
export async function reclaimAll(store: TaskStore) {
  const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };
  const reclaim = (owner: string) =>
    store.write<"reclaim">({ type: "reclaim", now: noon, owner, after: "", limit: 9, backoff });
  const { gone } = await store.renew();
  return Promise.all(gone.map(reclaim));
}

export function claim(store: TaskStore) {
  const tokens = Array.from({ length: 9 }, (_, index) => `c${index}`);
  return store.write({ type: "claim", now: noon, handlers, tokens });
}

export const ids = (tasks: readonly { readonly id: string }[]) => tasks.map(({ id }) => id);

/** Parks a running task with a sleep. */
export async function park(store: TaskStore, name: string, until: number): Promise<void> {
  const held = { now: noon, id: `task-${name}`, token: "t1" } as const;
  const rest = { runAfter: until, open: 0 };
  await store.write({ ...held, type: "sleep", key: "s", until, rest });
  await store.write({ ...held, type: "release" });
}

export function wake(store: TaskStore, limit = 9) {
  return store.write({ type: "wake", now: noon + 1_000, limit });
}
