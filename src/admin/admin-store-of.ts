import type { AdminStore, NodeReports } from "../store/admin-store.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import type { Refused } from "../task/command.ts";

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

/** A task cannot be changed for a while, although the store works: the process that runs it is gone. */
export class ProcessGone extends HoldfastError {
  constructor(id: string) {
    super(
      "store_failed",
      `The process that ran task ${id} is gone. Try again once another process has taken over the task.`,
    );
  }
}

export function unknown(id: string): HoldfastError {
  return new HoldfastError("unknown_task", `There is no task ${id}.`);
}

export function unfinished(id: string, what: string): HoldfastError {
  return new HoldfastError("unfinished", `Task ${id} has not ended. Only a finished task can be ${what}.`);
}

export function notBlocked(id: string): HoldfastError {
  return new HoldfastError("finished", `Task ${id} is not blocked, or is just being tried.`);
}

/** Running it a second time would repeat what the other task has done since. */
export function retried(id: string, as = "another task"): HoldfastError {
  return new HoldfastError(
    "finished",
    `Task ${id} has already been run again as ${as}. Retry that one, or run ${id} from the start as new.`,
  );
}

export function refusal(id: string, { reason }: Refused): HoldfastError {
  if (reason === "state") return new ProcessGone(id);
  if (reason === "unknown") return unknown(id);
  if (reason === "finished") return new HoldfastError("finished", `Task ${id} has already ended.`);
  return new HoldfastError("internal", `The store refused the action on task ${id}: ${reason}.`);
}

/** For operators without the keys of an encrypted store. */
export function encrypted(what: string): HoldfastError {
  return new HoldfastError(
    "configuration",
    `This store is encrypted. To ${what}, set its keys in HOLDFAST_ENCRYPTION_KEYS.`,
  );
}
