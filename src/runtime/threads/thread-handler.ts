import type { JournalKey } from "../../task/journal.ts";
import type { HandlerModule, WorkerOptions } from "./worker-options.ts";

/** As far as a handler on a thread needs its task. */
interface StepsOnThreads {
  step(key: JournalKey, options: WorkerOptions, input: unknown): Promise<unknown>;
}

/** The key of the step that such a handler is. */
const handlerKey = "handler";

/** A handler whose function runs on a thread, as the only step of its task. */
export function threadHandler({ module, ...how }: HandlerModule) {
  return (args: unknown, task: StepsOnThreads): Promise<unknown> =>
    task.step(handlerKey, { worker: module, ...how }, args);
}
