import type { TaskStore } from "../store/store.ts";
import type { StoreCase, StorePlace } from "./store-case.ts";

/** Runs one case on a store of its own, and cleans up after it. */
export async function runCase(place: StorePlace, { check }: StoreCase): Promise<void> {
  const stores: TaskStore[] = [];
  const another = (): TaskStore => {
    const store = place.store();
    stores.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    for (const store of stores) await store.close();
  };
  const open = async (): Promise<TaskStore> => {
    const store = another();
    await store.open();
    return store;
  };
  const reopen = async (): Promise<TaskStore> => {
    await closeAll();
    return open();
  };
  try {
    await check({ store: await open(), another, reopen });
  } finally {
    await closeAll();
    await place.remove();
  }
}
