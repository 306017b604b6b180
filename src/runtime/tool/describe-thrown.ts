/** A text for any thrown value. Never throws. */
export function describeThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return "The handler threw a value that has no text.";
  }
}

/** The JSON text of `value`, or undefined if JSON cannot carry it. Never throws. */
export function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
