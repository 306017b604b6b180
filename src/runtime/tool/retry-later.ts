/** When a step should run again, as its author or the service that it calls says. */

/** What `retryLater` returns: throw it. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  /** When the step runs again (epoch ms by this process), or after how long (ms). */
  readonly until: number | Date;

  constructor(until: number | Date, message: string, options?: ErrorOptions) {
    super(message, options);
    this.until = until;
  }
}

/**
 * Throw what it returns in a step, to run the step again after so many milliseconds, or at a time. The step waits without a slot, and a
 * restart does not end the wait. It counts as no retry. If the step names a `limit`, nobody starts under this limit until then. If the
 * task does not live that long, the step fails with this error.
 *
 * ```ts
 * if (quota.left === 0) throw retryLater(quota.resetsAt);
 * ```
 *
 * Throws a `TypeError` for what is neither a number of milliseconds nor a valid `Date`.
 */
export function retryLater(until: number | Date): RetryLater {
  const isTime = until instanceof Date && !Number.isNaN(until.getTime());
  if (!isTime && !(typeof until === "number" && Number.isFinite(until) && until >= 0))
    throw new TypeError("retryLater takes a number of milliseconds or a Date.");
  const when = until instanceof Date ? `at ${until.toISOString()}` : `in ${until} ms`;
  return new RetryLater(until, `The step is to run again ${when}.`);
}

/** The shortest pause that is taken from a service: one that says "now" has refused the call all the same. */
const shortestMs = 1_000;

/** How long to wait before a step runs again that threw this (ms); undefined if it does not say. Never throws. */
export function saidPause(thrown: unknown, now: number): number | undefined {
  try {
    if (isRetryLater(thrown)) {
      const { until } = thrown;
      return Math.max(until instanceof Date ? until.getTime() - now : until, 1);
    }
    return pauseOfService(thrown, now);
  } catch {
    return undefined;
  }
}

/** What a step returned or threw, as the error that it ends with if it does not run again. */
export function refusalOf(given: unknown): unknown {
  if (!isResponse(given) || given instanceof Error) return given;
  return new Error(`The service answered with status ${given.status}.`);
}

/** The answer of a service that asks to wait, where a step returned it instead of throwing. */
export function returnedRefusal(returned: unknown, now: number): RetryLater | undefined {
  if (!isResponse(returned) || returned instanceof Error) return undefined;
  const ms = saidPause(returned, now);
  return ms === undefined
    ? undefined
    : new RetryLater(ms, `The service answered with status ${returned.status}.`);
}

/** Whether `retryLater` made it, of this or another copy of the class. Never throws. */
export function isRetryLater(thrown: unknown): thrown is RetryLater {
  try {
    return thrown instanceof Error && thrown.name === "RetryLater" && "until" in thrown;
  } catch {
    return false; // looking at it throws
  }
}

interface Answered {
  readonly status: number;
  readonly headers: object;
}

/** A `Response`, or an error of a client library that has its parts. Never throws. */
function isResponse(given: unknown): given is Answered {
  if (typeof given !== "object" || given === null) return false;
  try {
    const { status, headers } = given as Partial<Answered>;
    return typeof status === "number" && typeof headers === "object" && headers !== null;
  } catch {
    return false; // looking at it throws
  }
}

/** `Retry-After` of an answer that refuses: seconds, or a date. */
function pauseOfService(thrown: unknown, now: number): number | undefined {
  const inner: unknown =
    typeof thrown === "object" && thrown !== null && "response" in thrown && thrown.response;
  const answer = [thrown, inner].find(isResponse);
  if (answer === undefined || answer.status < 400) return undefined;
  const stated = headerIn(answer.headers, "retry-after")?.trim();
  if (stated === undefined || stated === "") return undefined;
  const ms = /^\d+(\.\d+)?$/.test(stated) ? Number(stated) * 1_000 : Date.parse(stated) - now;
  return Number.isFinite(ms) ? Math.max(ms, shortestMs) : undefined;
}

function headerIn(headers: object, name: string): string | undefined {
  const get: unknown = "get" in headers ? headers.get : undefined;
  const found: unknown =
    typeof get === "function"
      ? get.call(headers, name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
}
