import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import type { Attempt } from "./attempt.ts";
import type { LifeLimit } from "./life-limit.ts";
import type { Clock } from "../clock.ts";
import { assertDuration, deadlineAfter } from "../duration.ts";
import type { Questions } from "./questions.ts";
import type { Timers } from "../timers.ts";

/** Waits for `ms` milliseconds from the first attempt on; a later attempt waits for what is left of them. */
export async function sleep(
  attempt: Attempt,
  limit: LifeLimit,
  questions: Questions,
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
  const until = entry?.deadlineAt ?? deadlineAfter(clock.now(), ms);
  if (entry !== undefined && until <= clock.now()) {
    await attempt.replayed(entry);
    return;
  }
  await attempt.begin();
  if (entry === undefined) {
    if (!limit.reaches(until)) await limit.assertReaches(until, `The sleep "${claimed}"`);
    await attempt.write("sleep", { key: claimed, until });
  } else await attempt.write("mark", { waiting: true });
  await attempt.whileWaiting(timers.until(until, attempt.signal));
  // What ended before this sleep is seen to end before it, now as on a replay.
  await Promise.all([attempt.recorded(), questions.deliver()]);
}
