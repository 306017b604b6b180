import { createRuntime } from "../../../runtime/create-runtime.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { TaskStore } from "../../../store/store.ts";
import type { ReceiveTasksOptions } from "../../receive-options.ts";
import { questionTools } from "./question-tools.ts";
import { Seats } from "./seats.ts";

/** What runs the tasks in one store, for all connections of this process that share it. */
export interface SharedRuntime {
  readonly runtime: Runtime;
  readonly seats: Seats;
  /** Tasks with ids of this client that were answered in this process, and whose server does not have the answer yet. */
  readonly unfetched: Set<string>;
  /** Resolves once the store is closed, if this was the last connection. Unfinished tasks stay in it. */
  leave(): Promise<void>;
}

interface Shared extends Omit<SharedRuntime, "leave"> {
  users: number;
}

const inUse = new WeakMap<TaskStore, Shared>();

/** Questions wait for people: they run side by side, and may see any number of restarts. */
const patient = {
  concurrency: 10_000,
  maxLeakedHandlers: 10_000,
  maxCrashes: 1_000_000,
  maxCrashBackoffMs: 0,
  stopDeadlineMs: 0,
};

/** The runtime on this store; rejects with what the store rejects with when it cannot be opened. */
export async function shareRuntime({
  store,
  ttlMs,
  pollIntervalMs,
  onError,
}: ReceiveTasksOptions): Promise<SharedRuntime> {
  const shared = inUse.get(store) ?? begin();
  inUse.set(store, shared);
  const { runtime, seats, unfetched } = shared;
  shared.users += 1;
  const leave = async (): Promise<void> => {
    shared.users -= 1;
    if (shared.users > 0) return;
    inUse.delete(store);
    await runtime.stop();
  };
  try {
    await runtime.start();
  } catch (error) {
    await leave();
    throw error;
  }
  return { runtime, seats, unfetched, leave };

  function begin(): Shared {
    const options = {
      ...patient,
      ...(ttlMs !== undefined && { ttlMs }),
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    };
    const ways = new Seats();
    const answered = new Set<string>();
    const registry = questionTools(ways, answered);
    const made = createRuntime({ store, registry, options, ...(onError !== undefined && { onError }) });
    return { runtime: made, seats: ways, unfetched: answered, users: 0 };
  }
}
