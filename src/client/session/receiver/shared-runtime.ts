import { createRuntime } from "../../../runtime/create-runtime.ts";
import { errorReporter } from "../../../runtime/error-reporter.ts";
import type { RuntimeOptions } from "../../../runtime/options.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import type { TaskStore } from "../../../store/store.ts";
import type { ReceiveTasksOptions } from "../../connect-options.ts";
import { questionTools, Responders } from "./question-tools.ts";

/** The runtime of one store, shared by all connections of this process that use it. */
export interface SharedRuntime {
  readonly runtime: Runtime;
  readonly responders: Responders;
  /**
   * Tasks with ids of this client that were answered in this process, and whose answer the server has not fetched
   * yet.
   */
  readonly unfetchedAnswers: Set<string>;
  /** Closes the store if this was the last connection. Unfinished tasks stay in it. */
  release(): Promise<void>;
}

interface Shared extends Omit<SharedRuntime, "release"> {
  users: number;
}

const inUse = new WeakMap<TaskStore, Shared>();

/** Questions wait for people: many run at once, and they survive any number of restarts. */
const runtimeOptions: RuntimeOptions = {
  requestedTtl: "task", // after its own ttl, a server no longer waits for the answer
  concurrency: 10_000,
  maxLeakedHandlers: 10_000,
  maxCrashes: 1_000_000,
  maxCrashBackoffMs: 0,
  stopDeadlineMs: 0,
};

/** The runtime of this store. Rejects with the store's error if it cannot be opened. */
export async function shareRuntime({
  store,
  ttlMs,
  pollIntervalMs,
  onError,
}: ReceiveTasksOptions): Promise<SharedRuntime> {
  const shared = inUse.get(store) ?? begin();
  inUse.set(store, shared);
  const { runtime, responders, unfetchedAnswers } = shared;
  shared.users += 1;
  const release = async (): Promise<void> => {
    shared.users -= 1;
    if (shared.users > 0) return;
    inUse.delete(store);
    await runtime.stop();
  };
  try {
    await runtime.start();
  } catch (error) {
    await release();
    throw error;
  }
  return { runtime, responders, unfetchedAnswers, release };

  function begin(): Shared {
    const options = {
      ...runtimeOptions,
      ...(ttlMs !== undefined && { ttlMs }),
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    };
    const newResponders = new Responders();
    const unfetched = new Set<string>();
    const registry = questionTools(newResponders, unfetched, errorReporter(onError));
    const made = createRuntime({ store, registry, options, ...(onError !== undefined && { onError }) });
    return { runtime: made, responders: newResponders, unfetchedAnswers: unfetched, users: 0 };
  }
}
