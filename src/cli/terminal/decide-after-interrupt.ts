import type { ClientClock } from "../../client/clock.ts";
import type { SignalWatch } from "./signal-watch.ts";
import { howToResume, type ShownTask } from "./terminal.ts";

/** How long to wait for a second Ctrl-C. */
const pauseMs = 3_000;

/**
 * After the first interrupt: says what happens to the task and how to return to it, and waits for a second Ctrl-C,
 * which cancels it. SIGTERM detaches at once.
 */
export async function decideAfterInterrupt(
  task: ShownTask,
  watch: SignalWatch,
  clock: ClientClock,
  say: (line: string) => void,
): Promise<"detach" | "cancel"> {
  const { again, terminated } = watch;
  say(howToResume(task));
  if (!terminated.aborted && !again.aborted) {
    say(`Press Ctrl-C again within ${pauseMs / 1000} seconds to cancel the task.`);
    const pause = clock.deadline(pauseMs);
    await aborted(AbortSignal.any([again, terminated, pause.signal]));
    pause.clear();
  }
  if (!again.aborted) return "detach";
  say("Cancelling the task …");
  return "cancel";
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
