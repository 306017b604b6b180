/**
 * Throw it in a step or a handler if a retry cannot help: neither the step, whatever its `retries`, nor the handler, whatever its tool's
 * `retry`, runs again. It is recognized by its name, on a replay too.
 *
 * ```ts
 * if (response.status === 404) throw new NonRetryableError("There is no such report.");
 * ```
 */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
}

/** Whether `thrown` forbids a retry, from this or another copy of the class. Never throws. */
export function isNonRetryable(thrown: unknown): boolean {
  try {
    const isOne = thrown instanceof NonRetryableError;
    return isOne || (thrown instanceof Error && thrown.name === "NonRetryableError");
  } catch {
    return false;
  }
}
