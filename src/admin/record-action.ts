import type { TaskStore } from "../store/store.ts";

export interface RecordServices {
  readonly store: TaskStore;
  readonly now: () => number;
  /** The operator's name. */
  readonly actor: string;
}

/**
 * Records what an operator does that changes no task here: an erasure, which deletes rows beside the store, an export, a dump and a read. It is
 * recorded before it is done, and never with the name of whose data it is: the record outlives that.
 */
export async function recordAction(
  { store, now, actor }: RecordServices,
  action: "erase" | "export" | "dump" | "read",
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await store.write({ type: "record_action", now: now(), by: { actor, action, detail } });
}
