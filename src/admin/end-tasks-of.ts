import type { TaskStore } from "../store/store.ts";
import type { TaskRecord } from "../task/record.ts";
import { adminOf } from "./admin-store-of.ts";
import { recordAction, type RecordServices } from "./record-action.ts";
import { selectTasks } from "./select-tasks.ts";

export interface EndServices extends RecordServices {
  readonly pause: (ms: number) => Promise<void>;
}

const pageSize = 200;
/** How often to check whether the tasks have ended. */
const lookEveryMs = 250;

/**
 * Records that everything about a principal is to be deleted, without saying whose that is, and cancels all its unfinished tasks. Notifies
 * running handlers first, and gives them `graceMs` to end by themselves.
 */
export async function endTasksOf(services: EndServices, principal: string, graceMs: number): Promise<void> {
  const { store, now, pause } = services;
  await recordAction(services, "erase");
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
    if (!isRunning) return;
    await pause(lookEveryMs);
  }
}

async function* unfinishedOf(store: TaskStore, principal: string): AsyncGenerator<TaskRecord> {
  const states = ["queued", "waiting", "running", "input_required", "blocked"] as const;
  for (let after: string | null = null; ;) {
    const page = await selectTasks(adminOf(store), { principal, states }, pageSize, after);
    yield* page.tasks;
    if (page.next === null) return;
    after = page.next;
  }
}
