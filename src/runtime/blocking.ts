/** What becomes of a task that the code of this process cannot continue: it is blocked, or fails once it was blocked for too long. */

import { type Block, type Blocked, blockedBy, blockedFailure, nextTryAt } from "../task/blocked.ts";
import type { TaskCommand } from "../task/command.ts";
import { errorOutcome } from "../task/outcome.ts";
import { endingOf, type Ending } from "../task/status-text.ts";
import type { StoreClock } from "./clock.ts";
import type { RuntimeSettings } from "./options.ts";

interface Services {
  readonly clock: Pick<StoreClock, "now" | "afterJumps">;
  readonly options: Pick<RuntimeSettings, "maxBlockedMs" | "deploy">;
}

/** A task that an attempt holds. */
interface Held {
  readonly id: string;
  readonly token: string;
  readonly blocked?: Blocked | undefined;
  readonly cancelRequestedAt: number | null;
}

/** The part of a block that does not come from the process. */
export type Refusal = Omit<Block, "deploy">;

/** What becomes of a task that is blocked again: it ends if that has lasted for `maxBlockedMs`, or else it is tried again later. */
export function blocking(
  refusal: Refusal,
  { blocked }: Pick<Held, "blocked">,
  { clock, options: { maxBlockedMs, deploy } }: Services,
): Ending | Pick<TaskCommand<"block">, "until" | "block"> {
  const now = clock.now();
  const block = { ...refusal, deploy: deploy ?? null };
  const after = blockedBy(block, blocked, now);
  const lastAt = clock.afterJumps(after.since + maxBlockedMs, after.since);
  if (now < lastAt) return { until: nextTryAt(after, now, lastAt), block };
  return endingOf(errorOutcome({ code: -32603, message: blockedFailure(after, now) }));
}

/** The command for a task that an attempt holds. One that is to be cancelled is cancelled: nobody waits for it to continue. */
export function blockHeld(
  refusal: Refusal,
  task: Held,
  services: Services,
  unbegun: boolean,
): TaskCommand<"block" | "settle" | "cancel"> {
  const now = services.clock.now();
  const { id, token } = task;
  if (task.cancelRequestedAt !== null) return { type: "cancel", now, id };
  const what = blocking(refusal, task, services);
  if (!("block" in what)) return { type: "settle", now, id, token, ...what };
  return { type: "block", now, id, token, ...what, ...(unbegun && { unbegun: true as const }) };
}
