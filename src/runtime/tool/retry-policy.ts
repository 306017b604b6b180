import { optionProblem, type OptionNames } from "../../task/option-names.ts";
import { backoffProblem, type Backoff } from "../backoff.ts";

/** When a handler that threw is run again, with its journal. */
export interface RetryPolicy {
  /** How often it is run in all, the first time included: a whole number of at least 2. Attempts that a crash ended do not count. */
  readonly attempts: number;
  /** The pauses before it is run again. The server may stop meanwhile: the next one goes on. */
  readonly backoff?: Backoff;
  /** Whether it is run again after this error. Left out: after every one that another run could spare. */
  readonly on?: (error: unknown) => boolean;
}

const names: OptionNames<RetryPolicy> = { attempts: true, backoff: true, on: true };

/** What a tool says besides that has to do with further attempts. */
interface OtherOptions {
  readonly task?: string;
  readonly promoteAfterMs?: number;
  readonly onCrash?: string;
}

/** What is wrong with a tool's `retry`, as the rest of a sentence; undefined where nothing is. */
export function retryProblem(
  retry: RetryPolicy,
  { task, promoteAfterMs, onCrash }: OtherOptions,
): string | undefined {
  const problem = optionProblem("retry", retry, names);
  if (problem !== undefined) return problem;
  const { attempts, backoff, on } = retry;
  if (!Number.isSafeInteger(attempts) || attempts < 2)
    return "retry.attempts has to be a whole number of at least 2, the first attempt included.";
  if (on !== undefined && typeof on !== "function") return "retry.on has to be a function.";
  if (backoff !== undefined) {
    const wrong = backoffProblem("retry.backoff", backoff);
    if (wrong !== undefined) return wrong;
  }
  if (onCrash === "fail")
    return 'retry runs a handler again, which onCrash: "fail" forbids: leave out one of the two.';
  const direct =
    task === "forbidden" ? 'task: "forbidden"' : promoteAfterMs === undefined ? undefined : "promoteAfterMs";
  return direct === undefined
    ? undefined
    : `retry is kept in a task, and with ${direct} it runs without one: leave out one of the two.`;
}

/** Hears of faults that no caller is there for. */
export type Report = (error: unknown) => void;

/** What an author's rule says of an error; one that throws, or has to be waited for, says no, and that is reported. */
export function says(rule: (error: unknown) => boolean, error: unknown, report: Report): boolean {
  try {
    const answer: unknown = rule(error);
    if (!(answer instanceof Promise)) return Boolean(answer);
    answer.catch(() => undefined);
    throw new TypeError(
      "A rule that says what is tried again has to return true or false, and not a promise.",
    );
  } catch (thrown) {
    report(thrown);
    return false;
  }
}
