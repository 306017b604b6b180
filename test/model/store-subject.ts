import type { TaskChange, TaskStore } from "../../src/store/store.ts";
import type { Subject } from "./follow.ts";
import { viewOfStore } from "./view.ts";

/** A store of this process as a subject; `make` gives another one on the same place, each time. */
export async function storeSubject(
  make: () => TaskStore,
): Promise<Subject & { readonly close: () => Promise<void> }> {
  let store: TaskStore;
  let changes: TaskChange[] = [];
  const open = async (): Promise<void> => {
    store = make();
    store.subscribe((told) => {
      if (told !== "gap") changes.push(...told);
    });
    await store.open();
  };
  await open();
  return {
    write: async (commands) => {
      changes = [];
      const results = await Promise.all(commands.map((command) => store.write(command)));
      return { results, changes };
    },
    look: (at) => viewOfStore(store, at),
    reopen: async () => {
      await store.close();
      await open();
    },
    close: () => store.close(),
  };
}
