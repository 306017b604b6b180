import type { ClientClock } from "../../client/clock.ts";
import type { SignalWatch } from "./signal-watch.ts";
import { wayBack, type ShownTask } from "./terminal.ts";

/** How long a second Ctrl-C is waited for. */
const pauseMs = 3_000;

/**
 * After the first interrupt: says what becomes of the work and how to come back to it, and waits whether another
 * follows. `terminated` leaves at once.
 */
export async function decide(
  task: ShownTask | undefined,
  watch: SignalWatch,
  clock: ClientClock,
  say: (line: string) => void,
): Promise<"detach" | "cancel"> {
  const { again, terminated } = watch;
  if (task === undefined) {
    say(
      "Gave up: there is no task yet, so there is nothing to come back to. Whether the work stops is up to the server.",
    );
    return "detach";
  }
  say(wayBack(task));
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
