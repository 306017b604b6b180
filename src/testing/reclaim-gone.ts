import type { TaskStore } from "../store/store.ts";
import type { CommandResult } from "../task/command-result.ts";
import { noon } from "./sample-task.ts";

const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };

/** Takes over, at noon, the tasks of owners that are gone, as a runtime does at its start and once a second. */
export async function reclaimGone(store: TaskStore): Promise<void> {
  const { gone } = await store.renew();
  for (const owner of gone) {
    for (let after: string | null = ""; after !== null;) {
      const result: CommandResult<"reclaim"> = await store.write({
        type: "reclaim",
        now: noon,
        owner,
        after,
        limit: 100,
        backoff,
      });
      after = result.ok ? result.next : null;
    }
  }
}
