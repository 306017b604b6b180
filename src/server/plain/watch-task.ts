import type { Requestor, Runtime } from "../../runtime/runtime.ts";
import { untilStoreAnswers } from "../../runtime/until-store-answers.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import type { OnError } from "../answer.ts";
import { isStopping, untilCut } from "../stopping.ts";

export interface Watching {
  readonly runtime: Runtime;
  readonly onError: OnError;
  readonly id: string;
  readonly requestor: Requestor;
  readonly signal: AbortSignal;
}

/**
 * Reads the task now and after each change, until `isEnd` says so of what was read; resolves with that. Rejects with the
 * signal's reason, and where the task cannot be read. A server that stops is no end: its task goes on in the next
 * process, so nothing is said until the signal aborts.
 */
export async function watchTask(
  { runtime, onError, id, requestor, signal }: Watching,
  isEnd: (snapshot: TaskSnapshot) => boolean,
): Promise<TaskSnapshot> {
  let changed = false;
  let wake = (): void => undefined;
  const unwatch = runtime.watch([id], () => {
    changed = true;
    wake();
  });
  const patience = { clock: runtime.clock, onError };
  try {
    for (;;) {
      signal.throwIfAborted();
      changed = false;
      const snapshot = await untilStoreAnswers(() => runtime.get(id, requestor), patience, signal);
      if (isEnd(snapshot)) return snapshot;
      await waitFor((done) => {
        wake = done;
        if (changed) done();
        return () => undefined;
      }, signal);
    }
  } catch (error) {
    if (isStopping(error)) return await untilCut(signal);
    throw error;
  } finally {
    unwatch();
  }
}
