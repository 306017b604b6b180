import type { Block } from "./blocked.ts";
import { cutText } from "./stored-text.ts";
import { type Loss, lossText, lostAlone, type Outcome } from "./outcome.ts";
import type { TaskEvent } from "./transition.ts";

/**
 * How an attempt ended. `settled`: with a result. `failed`: with an error, or a result that reports one. `parked`: a waiting handler was
 * dropped from memory. `released`: the process stopped, or left the task to others. `retried`: the handler threw, and runs again. `blocked`:
 * the code of the process could not continue the task. `lost`: the process is gone. `next_round`: a round of a loop ended, and the handler runs
 * again with the next one.
 */
export const attemptEnds = [
  "settled",
  "failed",
  "cancelled",
  "expired",
  "parked",
  "released",
  "retried",
  "blocked",
  "lost",
  "next_round",
] as const;

/** How an attempt ended. */
export type AttemptEnd = (typeof attemptEnds)[number];

/** One run of a task's handler. Times are epoch milliseconds. */
export interface TaskAttempt {
  /** From 1. */
  readonly number: number;
  /** The process that ran it. */
  readonly owner: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Null while the attempt holds its task. */
  readonly end: AttemptEnd | null;
  /** What went wrong. */
  readonly error?: string;
  /** The stack of what the handler threw, for operators. Only the last attempt that threw has one. */
  readonly stack?: string;
}

/** How a command starts or ends an attempt. */
interface Change {
  readonly type: TaskEvent;
  readonly now: number;
  readonly outcome?: Outcome;
  readonly statusMessage?: string;
  readonly stack?: string;
  readonly block?: Block;
  readonly loss?: Loss;
}

const endsBy = {
  release: "released",
  park: "parked",
  cancel: "cancelled",
  next_round: "next_round",
} as const;

/** How many attempts a record keeps: every change of the task writes them again. */
const mostAttempts = 10;

/** In code points. */
const longestError = 500;

const longestStack = 4_000;

/** The attempts of a task whose first attempt starts when the task is created. */
export function firstAttempt(owner: string, startedAt: number): readonly TaskAttempt[] {
  return [{ number: 1, owner, startedAt, endedAt: null, end: null }];
}

/**
 * The attempts of a task after a command of the process `owner`: the same list, unless an attempt starts or ends. `attempt` is the number
 * of the one that holds or last held the task.
 */
export function attemptsAfter(
  { attempts, attempt }: { readonly attempts: readonly TaskAttempt[]; readonly attempt: number },
  { type, now, outcome, statusMessage, stack, block, loss }: Change,
  owner: string,
): readonly TaskAttempt[] {
  switch (type) {
    case "start":
      return bounded([...attempts, { number: attempt + 1, owner, startedAt: now, endedAt: null, end: null }]);
    case "release":
    case "park":
    case "cancel":
    case "next_round":
      return ended(attempts, now, endsBy[type]);
    case "retry":
      return ended(attempts, now, "retried", statusMessage, stack);
    case "block":
      return ended(attempts, now, "blocked", block?.problem);
    case "reclaim":
      return ended(attempts, now, "lost", lossText(loss ?? lostAlone));
    case "settle":
      return outcome?.kind === "result"
        ? ended(attempts, now, "settled")
        : ended(attempts, now, "failed", statusMessage, stack);
    case "expire":
      return ended(attempts, now, "expired", statusMessage);
    default:
      return attempts;
  }
}

/** The error text that an attempt stores. */
export function cutError(error: string): string {
  return cutText(error, longestError);
}

/** The stack that an attempt stores. */
export function cutStack(stack: string): string {
  return cutText(stack, longestStack);
}

/** Keeps the first attempt and the last ones; their numbers show which are missing. */
function bounded(attempts: readonly TaskAttempt[]): readonly TaskAttempt[] {
  return attempts.length <= mostAttempts
    ? attempts
    : [...attempts.slice(0, 1), ...attempts.slice(1 - mostAttempts)];
}

/** Ends nothing if no attempt holds the task. */
function ended(
  attempts: readonly TaskAttempt[],
  endedAt: number,
  end: AttemptEnd,
  error?: string,
  stack?: string,
): readonly TaskAttempt[] {
  const last = attempts.at(-1);
  if (last === undefined || last.endedAt !== null) return attempts;
  const why = error === undefined ? {} : { error: cutError(error) };
  const earlier = attempts.slice(0, -1);
  if (stack === undefined) return [...earlier, { ...last, endedAt, end, ...why }];
  return [...earlier.map(withoutStack), { ...last, endedAt, end, ...why, stack: cutStack(stack) }];
}

/** One stack is enough to find the cause, and every change writes it again. */
function withoutStack({ stack: _stack, ...attempt }: TaskAttempt): TaskAttempt {
  return attempt;
}
