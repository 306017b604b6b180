/** Hears of faults that no caller is there for. */
export type Report = (error: unknown) => void;

/** What an author's rule says of an error; one that throws says no, and that is reported. */
export function says(rule: (error: unknown) => boolean, error: unknown, report: Report): boolean {
  try {
    return rule(error);
  } catch (thrown) {
    report(thrown);
    return false;
  }
}
