import type { Requestor, Runtime } from "../../../runtime/runtime.ts";
import { waitFor } from "../../../runtime/wait-for.ts";
import type { TaskSnapshot } from "../../../task/snapshot.ts";

/** The task once it has ended; rejects with `unknown_task`, and with the signal's reason. */
export async function finished(
  runtime: Runtime,
  requestor: Requestor,
  id: string,
  signal: AbortSignal,
): Promise<TaskSnapshot> {
  for (;;) {
    let changed = false;
    let wake = (): void => undefined;
    // Watched before it is read, so that no change falls between.
    const stop = runtime.watch([id], () => {
      changed = true;
      wake();
    });
    try {
      const snapshot = await runtime.get(id, requestor);
      if (snapshot.task.finishedAt !== null) return snapshot;
      await waitFor((done) => {
        wake = done;
        if (changed) queueMicrotask(done);
        return () => undefined;
      }, signal);
    } finally {
      stop();
    }
  }
}
