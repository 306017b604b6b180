import type { Runtime } from "../../runtime/runtime.ts";
import { untilStoreAnswers } from "../../runtime/until-store-answers.ts";
import { waitFor } from "../../runtime/wait-for.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { waitOutStop, type OnError } from "../faults.ts";

/**
 * The handler of a task may ask several questions at once, which are stored one by one: the last may be this late, in ms.
 */
const sideBySideMs = 20;

export interface WaitOptions {
  readonly runtime: Runtime;
  readonly onError: OnError;
  readonly task: TaskRecord;
  /** Sends the caller what the task reports before its answer, now and after each change. */
  readonly report: (snapshot: TaskSnapshot) => Promise<void>;
  /** Called with the task after that; returns whether the caller can be answered. */
  readonly isAnswerable: (snapshot: TaskSnapshot) => boolean;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Aborts when the caller has waited long enough. */
  readonly deadline: AbortSignal;
}

/**
 * Resolves with the task when its caller can be answered. Rejects with the reason of the signal or the deadline, and if the task cannot be
 * read. While the server stops, it waits until one of them aborts, since the task continues in the next process.
 */
export async function waitForTask(options: WaitOptions): Promise<TaskSnapshot> {
  const { runtime, isAnswerable, signal, deadline } = options;
  const either = AbortSignal.any([signal, deadline]);
  for (;;) {
    const snapshot = await readUntil(isAnswerable, options, either);
    if (snapshot.task.finishedAt !== null) return snapshot;
    const pause = Promise.withResolvers<void>();
    runtime.clock.after(sideBySideMs, pause.resolve);
    await pause.promise;
    const withAllQuestions = await readUntil(() => true, options, signal);
    if (isAnswerable(withAllQuestions)) return withAllQuestions;
  }
}

/** Reads the task now and after each change. */
async function readUntil(
  isEnd: (snapshot: TaskSnapshot) => boolean,
  { runtime, onError, task, report }: WaitOptions,
  signal: AbortSignal,
): Promise<TaskSnapshot> {
  let changed = false;
  let wake = (): void => undefined;
  const unwatch = runtime.watch([task.id], () => {
    changed = true;
    wake();
  });
  const patience = { clock: runtime.clock, onError };
  const read = async (): Promise<TaskSnapshot> => {
    const snapshot = await runtime.get(task.id, task);
    await report(snapshot);
    return snapshot;
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      changed = false;
      const snapshot = await untilStoreAnswers(read, patience, signal);
      if (isEnd(snapshot)) return snapshot;
      await waitFor((done) => {
        wake = done;
        if (changed) done();
        return () => undefined;
      }, signal);
    }
  } catch (error) {
    return await waitOutStop(error, signal);
  } finally {
    unwatch();
  }
}
