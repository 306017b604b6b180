import type { TaskStore } from "../store/store.ts";
import type { TaskRecord } from "../task/record.ts";
import { adminOf } from "./admin-store-of.ts";
import { recordAction, type RecordServices } from "./record-action.ts";
import { forgetPerson, personOf } from "./record-reads.ts";
import { newestTasks } from "./select-tasks.ts";

export interface EndServices extends RecordServices {
  readonly pause: (ms: number) => Promise<void>;
}

/** How often to check whether the tasks have ended. */
const lookEveryMs = 250;

/**
 * Records that everything about a principal is to be deleted, without saying whose that is, and cancels all its unfinished tasks. Notifies
 * running handlers first, and gives them `graceMs` to end by themselves. Then nothing recorded can be found by the principal's name; false:
 * all of it still can, because the store is encrypted and its keys are not here.
 */
export async function endTasksOf(
  services: EndServices,
  principal: string,
  graceMs: number,
): Promise<boolean> {
  const { store, now, pause } = services;
  const person = await personOf(services, principal);
  await recordAction(services, "erase", person === null ? {} : { person });
  const { others } = await store.renew();
  const deadline = now() + (others > 0 ? graceMs : 0); // no other process runs them
  for (;;) {
    let isRunning = false;
    const isLate = now() >= deadline;
    for await (const { id, state } of unfinishedOf(store, principal)) {
      if (state !== "running" || isLate) {
        const statusMessage = "Cancelled because its caller's data is being deleted.";
        await store.write<"cancel">({ type: "cancel", now: now(), id, statusMessage });
        continue;
      }
      await store.write({ type: "request_cancel", now: now(), id, cancelBy: deadline });
      isRunning = true;
    }
    if (!isRunning) return forgetPerson(services, principal);
    await pause(lookEveryMs);
  }
}

async function* unfinishedOf(store: TaskStore, principal: string): AsyncGenerator<TaskRecord> {
  const states = ["queued", "waiting", "running", "input_required", "blocked"] as const;
  for await (const page of newestTasks(adminOf(store), { principal, states }, Infinity)) yield* page;
}
