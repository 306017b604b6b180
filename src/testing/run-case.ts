import type { TaskStore } from "../store/store.ts";
import { aHandler } from "./sample-task.ts";
import type { OpenStore, StoreCase, StorePlace } from "./store-case.ts";

/** Runs one case on its own store, and cleans up. */
export async function runCase(place: StorePlace, { check }: StoreCase): Promise<void> {
  const stores: TaskStore[] = [];
  let owners = 0;
  const another = (): TaskStore => {
    const store = place.store();
    stores.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    for (const store of stores) await store.close();
  };
  const join = async (): Promise<OpenStore> => {
    const store = another();
    const owner = `owner-${++owners}`;
    await store.open({ id: owner, handlers: [aHandler] });
    return { store, owner };
  };
  const reopen = async (): Promise<TaskStore> => {
    await closeAll();
    return (await join()).store;
  };
  const kill = async (owner: string): Promise<void> => place.kill?.(owner);
  try {
    await check({ store: (await join()).store, another, reopen, join, kill });
  } finally {
    await closeAll();
    await place.remove();
  }
}
