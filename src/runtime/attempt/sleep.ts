import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import type { Attempt } from "./attempt.ts";
import type { LifeLimit } from "./life-limit.ts";
import type { Clock } from "../clock.ts";
import { assertDuration, deadlineAfter } from "../duration.ts";
import type { Timers } from "../timers.ts";

/** Waits for `ms` milliseconds from the first attempt on; a later attempt waits for what is left of them. */
export async function sleep(
  attempt: Attempt,
  limit: LifeLimit,
  timers: Timers,
  clock: Clock,
  key: JournalKey,
  ms: number,
): Promise<void> {
  assertDuration(ms);
  const claimed = attempt.claim(key);
  const entry = attempt.find(claimed);
  if (entry !== undefined && entry.kind !== "sleep") {
    throw new HoldfastError(
      "replay_mismatch",
      `The journal has a ${entry.kind} under the key "${claimed}", but the handler asks for a sleep.`,
    );
  }
  if (entry !== undefined && entry.doneAt !== null) {
    await attempt.replayed(entry);
    return;
  }
  const until = entry?.deadlineAt ?? deadlineAfter(clock.now(), ms);
  await attempt.begin();
  if (entry === undefined) {
    if (!limit.reaches(until)) await limit.assertReaches(until, `The sleep "${claimed}"`);
    await attempt.write("sleep", { key: claimed, until });
  } else if (until > clock.now()) await attempt.write("mark", { waiting: true });
  attempt.journal.sleeps(claimed);
  const slept = async (): Promise<void> => {
    await timers.until(until, attempt.signal);
    await attempt.journal.endSleep(claimed);
  };
  await attempt.whileWaiting(slept());
}
