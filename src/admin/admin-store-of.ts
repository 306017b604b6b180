import type { AdminStore, NodeReports } from "../store/admin-store.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";

/** The part of a store for operators. Throws `configuration` for a store that has none. */
export function adminOf(store: TaskStore): AdminStore {
  if (store.admin === undefined) {
    throw new HoldfastError(
      "configuration",
      "This store does not support operators: it has no TaskStore.admin.",
    );
  }
  return store.admin;
}

/** What lists and charts are read from. */
export interface ShownFrom extends Pick<AdminStore, "tasks" | "count" | "endedTools" | "estimate"> {
  readonly between: NodeReports["between"];
}

/**
 * Reads a list or a chart: from the replica of the store if it has one that answers, and then with how far it is behind, else from the store
 * itself. Whatever an action depends on is not read like this.
 */
export async function readToShow<T extends object>(
  store: TaskStore,
  read: (from: ShownFrom) => Promise<T>,
): Promise<T & { readonly behindMs?: number }> {
  const admin = adminOf(store);
  const replica = await admin.replica?.();
  if (replica !== undefined) {
    try {
      return { ...(await read(replica)), behindMs: replica.behindMs };
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "store_failed") throw error;
    }
  }
  return read({
    tasks: (...page) => admin.tasks(...page),
    count: (...range) => admin.count(...range),
    endedTools: () => admin.endedTools(),
    ...(admin.estimate !== undefined && { estimate: () => admin.estimate?.() ?? Promise.resolve([]) }),
    between: async (...range) => (await store.reports?.between(...range)) ?? [],
  });
}
