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
