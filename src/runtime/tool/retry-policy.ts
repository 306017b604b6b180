import { optionProblem, type OptionNames } from "../../task/option-names.ts";
import { backoffProblem, type Backoff } from "../backoff.ts";

/** When a handler that threw runs again, with its journal. */
export interface RetryPolicy {
  /** How often it runs in total, including the first time: a whole number of at least 2. Attempts that ended in a crash do not count. */
  readonly attempts: number;
  /** The pauses before it runs again. They continue across a restart of the server. */
  readonly backoff?: Backoff;
  /** Whether it runs again after this error. Left out: after every error except those that always end the task. */
  readonly on?: (error: unknown) => boolean;
}

const names: OptionNames<RetryPolicy> = { attempts: true, backoff: true, on: true };

/** Other options of a tool that affect further attempts. */
interface OtherOptions {
  readonly task?: string;
  readonly promoteAfterMs?: number;
  readonly onCrash?: string;
}

/** What is wrong with a tool's `retry`, as the rest of a sentence; undefined if nothing is. */
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

/** Receives faults that no caller is told about. */
export type Report = (error: unknown) => void;

/** The answer of an author's rule for an error. If the rule throws or returns a promise, the answer is no, and that is reported. */
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
