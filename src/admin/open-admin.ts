import { ArtifactBlobs, folderBlobs } from "../runtime/blobs/artifact-blobs.ts";
import { StoreClock, systemClock } from "../runtime/clock.ts";
import { defaultSettings } from "../runtime/options.ts";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import type { Admin } from "./operations.ts";
import { BulkRunner, type RunnerServices } from "./bulk-runner.ts";
import { createAdmin } from "./create-admin.ts";

/** How often to renew the lease: seldom enough to cost nothing, and often enough for every lease. */
const renewEveryMs = 1_000;

/** An `Admin` on a store that it opened, or on a remote one. */
export interface OpenAdmin {
  readonly admin: Admin;
  readonly store?: TaskStore;
  /** How far the store's clock is ahead of this machine's (ms). */
  readonly offsetMs: () => number;
  close(): Promise<void>;
}

/**
 * Opens a store for an operator, as another owner without handlers. Starts no tasks, takes none over and ends none. Servers may have the
 * store open. Rejects as the store's `open` does. `blobFolder`: where tasks keep files outside of the store.
 */
export async function openAdmin(store: TaskStore, blobFolder?: string): Promise<OpenAdmin> {
  const clock = new StoreClock(systemClock);
  const operatorOwner = clock.uniqueName();
  await store.open({ id: operatorOwner, handlers: [] });
  await renew(store, clock); // from here on it has the store's time
  const blobs = blobFolder === undefined ? undefined : await blobsOf(store, blobFolder, clock);
  const stop = clock.every(renewEveryMs, () => void renew(store, clock));
  const services: RunnerServices = {
    store,
    blobs,
    operatorOwner,
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    every: (ms, run) => clock.every(ms, run),
    randomBytes: (size) => clock.randomBytes(size),
    maxBodyBytes: defaultSettings.maxBodyBytes,
  };
  const runner = new BulkRunner(services);
  return {
    store,
    offsetMs: () => clock.offsetMs,
    admin: createAdmin(services, runner),
    close: async () => {
      await runner.stop();
      stop();
      await store.close();
    },
  };
}

/** Undefined for a store without blobs, and without its keys, which those of files are encrypted with. */
async function blobsOf(
  store: TaskStore,
  folder: string,
  clock: StoreClock,
): Promise<ArtifactBlobs | undefined> {
  const blobs = new ArtifactBlobs(folderBlobs(folder), clock);
  try {
    return (await blobs.find(store)) ? blobs : undefined;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "configuration") return undefined;
    throw error;
  }
}

/** In the meantime, requests fail because the store does not answer. */
async function renew(store: TaskStore, clock: StoreClock): Promise<void> {
  try {
    const askedAt = clock.elapsed();
    const { held, now } = await store.renew();
    clock.look(now, askedAt);
    if (!held) await store.rejoin?.();
  } catch {
    // The next renewal tries again.
  }
}
