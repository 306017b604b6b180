/**
 * What a step or a handler throws where another try could not help: a step is not run again, whatever its `retries`, nor is a handler,
 * whatever the `retry` of its tool. It is told by its name, and is one on a replay too.
 *
 * ```ts
 * if (response.status === 404) throw new NonRetryableError("There is no such report.");
 * ```
 */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
}

/** Whether `thrown` forbids another try, be it of this copy of the class or of another one. Never throws. */
export function isNonRetryable(thrown: unknown): boolean {
  try {
    const isOne = thrown instanceof NonRetryableError;
    return isOne || (thrown instanceof Error && thrown.name === "NonRetryableError");
  } catch {
    return false;
  }
}
