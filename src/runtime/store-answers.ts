import type { TaskStore } from "../store/store.ts";
import type { Clock } from "./clock.ts";

/** Whether `store` answers a small read within that many milliseconds. */
export async function storeAnswers(store: TaskStore, clock: Clock, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const cancelTimer = clock.after(ms, () => late.resolve(false));
  const read = store.nextSweepAt(clock.now()).then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([read, late.promise]);
  } finally {
    cancelTimer();
  }
}
