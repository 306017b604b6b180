import { systemClock } from "../runtime/clock.ts";
import { defaultOptions } from "../runtime/options.ts";
import type { TaskStore } from "../store/store.ts";
import type { Admin } from "./admin.ts";
import { createAdmin } from "./create-admin.ts";

/** How often it says that it lives: seldom enough to cost nothing, and often enough for every lease. */
const renewEveryMs = 1_000;

/** An `Admin` that has a store for itself, or none that is at hand. */
export interface OpenAdmin {
  readonly admin: Admin;
  readonly store?: TaskStore;
  close(): Promise<void>;
}

/**
 * Opens a store for an operator, as another owner without handlers. It starts no tasks, takes nothing over and ends nothing that is due.
 * Servers may have the store open or not. Rejects as `open` of the store does.
 */
export async function openAdmin(store: TaskStore): Promise<OpenAdmin> {
  const clock = systemClock;
  await store.open({ id: clock.uniqueName(), handlers: [] });
  const stop = clock.every(renewEveryMs, () => void renew(store));
  const { maxBodyBytes } = defaultOptions;
  return {
    store,
    admin: createAdmin({
      store,
      now: () => clock.now(),
      after: (ms, run) => clock.after(ms, run),
      randomBytes: (size) => clock.randomBytes(size),
      maxBodyBytes,
    }),
    close: async () => {
      stop();
      await store.close();
    },
  };
}

/** Who is asked for something meanwhile says that the store does not answer. */
async function renew(store: TaskStore): Promise<void> {
  try {
    const { held } = await store.renew();
    if (!held) await store.rejoin?.();
  } catch {
    // The next renewal tries again.
  }
}
