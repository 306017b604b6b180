import { cutText } from "./cut-text.ts";
import type { Outcome } from "./outcome.ts";
import type { TaskEvent } from "./transition.ts";

/**
 * How an attempt ended. `settled`: with a result, `failed`: with an error, or a result that is one. `parked`: the frame of a handler that waits was
 * dropped. `released`: the process stopped, or left the task to others. `retried`: the handler threw, and runs again. `lost`: the process is gone.
 */
export type AttemptEnd =
  "settled" | "failed" | "cancelled" | "expired" | "parked" | "released" | "retried" | "lost";

/** One run of a task's handler. Times are epoch milliseconds. */
export interface TaskAttempt {
  /** The first is 1. */
  readonly number: number;
  /** The process that ran it. */
  readonly owner: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Null while it holds its task; and where a process of an earlier version saw it end, which did not say how. */
  readonly end: AttemptEnd | null;
  /** What went wrong. */
  readonly error?: string;
}

/** What a command says of the attempt that it begins or ends. */
interface Change {
  readonly type: TaskEvent;
  readonly now: number;
  readonly outcome?: Outcome;
  readonly statusMessage?: string;
}

/** How many attempts a task has in its record: they are written with each of its changes. */
const mostAttempts = 10;
/** In code points. */
const longestError = 500;

const processGone = "The process that ran it is gone.";

/** The attempts of a task whose first one begins as it is made. */
export function firstAttempt(owner: string, startedAt: number): readonly TaskAttempt[] {
  return [{ number: 1, owner, startedAt, endedAt: null, end: null }];
}

/**
 * The attempts of a task after a command of the process `owner`: the same list, unless one begins or ends. `attempt` is the number of the one that
 * holds or last held it.
 */
export function attemptsAfter(
  { attempts, attempt }: { readonly attempts: readonly TaskAttempt[]; readonly attempt: number },
  { type, now, outcome, statusMessage }: Change,
  owner: string,
): readonly TaskAttempt[] {
  switch (type) {
    case "start":
      return bounded([...attempts, { number: attempt + 1, owner, startedAt: now, endedAt: null, end: null }]);
    case "release":
      return ended(attempts, attempt, now, "released");
    case "park":
      return ended(attempts, attempt, now, "parked");
    case "retry":
      return ended(attempts, attempt, now, "retried", statusMessage);
    case "reclaim":
      return ended(attempts, attempt, now, "lost", processGone);
    case "settle":
      return outcome?.kind === "result"
        ? ended(attempts, attempt, now, "settled")
        : ended(attempts, attempt, now, "failed", statusMessage);
    case "expire":
      return ended(attempts, attempt, now, "expired", statusMessage);
    case "cancel":
      return ended(attempts, attempt, now, "cancelled");
    default:
      return attempts;
  }
}

/** The first one, and the last: the numbers say which are left out. */
function bounded(attempts: readonly TaskAttempt[]): readonly TaskAttempt[] {
  return attempts.length <= mostAttempts
    ? attempts
    : [...attempts.slice(0, 1), ...attempts.slice(1 - mostAttempts)];
}

/** Nothing ends where no attempt holds the task, nor where a process of an earlier version started the one that does. */
function ended(
  attempts: readonly TaskAttempt[],
  attempt: number,
  endedAt: number,
  end: AttemptEnd,
  error?: string,
): readonly TaskAttempt[] {
  const last = attempts.at(-1);
  if (last === undefined || last.number !== attempt || last.endedAt !== null) return attempts;
  const why = error === undefined ? {} : { error: cutText(error, longestError) };
  return [...attempts.slice(0, -1), { ...last, endedAt, end, ...why }];
}
