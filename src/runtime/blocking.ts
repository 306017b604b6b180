/** What becomes of a task that the code of this process cannot continue: it is blocked, or fails once it was blocked for too long. */

import {
  type Block,
  type Blocked,
  blockedBy,
  blockedFailure,
  isGivenUp,
  nextTryAt,
} from "../task/blocked.ts";
import type { TaskCommand } from "../task/command.ts";
import { errorOutcome } from "../task/outcome.ts";
import { endingOf, type Ending } from "../task/status-text.ts";
import type { Clock } from "./clock.ts";
import type { RuntimeSettings } from "./options.ts";

type Terms = Pick<RuntimeSettings, "maxBlockedMs" | "deploy">;

/** A task that an attempt holds. */
interface Held {
  readonly id: string;
  readonly token: string;
  readonly blocked?: Blocked | undefined;
  readonly cancelRequestedAt: number | null;
}

/** The part of a block that does not come from the process. */
export type Refusal = Omit<Block, "deploy">;

/** How a task ends that is blocked again; undefined if it is not given up yet. */
export function givenUp(
  refusal: Refusal,
  { blocked }: Pick<Held, "blocked">,
  now: number,
  { maxBlockedMs, deploy }: Terms,
): Ending | undefined {
  const after = blockedBy({ ...refusal, deploy: deploy ?? null }, blocked, now);
  if (!isGivenUp(after, now, maxBlockedMs)) return undefined;
  return endingOf(errorOutcome({ code: -32603, message: blockedFailure(after, now) }));
}

/** What blocks a task, and until when. */
export function blocking(
  refusal: Refusal,
  { blocked }: Pick<Held, "blocked">,
  now: number,
  { maxBlockedMs, deploy }: Terms,
): Pick<TaskCommand<"block">, "until" | "block"> {
  const block = { ...refusal, deploy: deploy ?? null };
  return { until: nextTryAt(blockedBy(block, blocked, now), now, maxBlockedMs), block };
}

/** The command for a task that an attempt holds. One that is to be cancelled is cancelled: nobody waits for it to continue. */
export function blockHeld(
  refusal: Refusal,
  task: Held,
  { clock, options }: { readonly clock: Pick<Clock, "now">; readonly options: Terms },
  unbegun: boolean,
): TaskCommand<"block" | "settle" | "cancel"> {
  const now = clock.now();
  const { id, token } = task;
  if (task.cancelRequestedAt !== null) return { type: "cancel", now, id };
  const ending = givenUp(refusal, task, now, options);
  if (ending !== undefined) return { type: "settle", now, id, token, ...ending };
  const { until, block } = blocking(refusal, task, now, options);
  return { type: "block", now, id, token, until, block, ...(unbegun && { unbegun: true as const }) };
}
