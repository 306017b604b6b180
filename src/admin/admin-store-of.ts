import type { AdminStore } from "../store/admin-store.ts";
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
