/** Errors of handlers: what ends a task for good, what a called tool's failure looks like, and what can be read of a thrown value. */

import { type CallToolResult, ProtocolError } from "@modelcontextprotocol/server";
import type { CallFailure, JsonRpcError } from "../../task/outcome.ts";
import { ExecError } from "../exec/exec-options.ts";
import { HoldfastError, type FaultCode } from "../../task/fault.ts";
import { cutText, type TextRoom } from "../../task/stored-text.ts";

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

/** In code points: the maximum for a text from a tool, which may itself quote a tool that it called. */
const longestCause = 1_000;

const reasons = ["failed", "cancelled", "expired"] as const;

/** How a call of a tool failed. */
type TaskCallFailure = (typeof reasons)[number];

interface Details {
  readonly result?: CallToolResult | undefined;
  readonly error?: JsonRpcError | undefined;
}

/**
 * `task.call` rejects with it if the called tool did not succeed, on a replay too. Uncaught, it gives the calling tool a result with
 * `isError` whose text is the message: the name of the called tool, and what its own caller would have been told.
 *
 * ```ts
 * try {
 *   await task.call("scan", scan, { url });
 * } catch (error) {
 *   if (!(error instanceof TaskCallError) || error.reason !== "expired") throw error;
 *   await task.status("The scan took too long, and is left out.");
 * }
 * ```
 */
export class TaskCallError extends Error {
  override readonly name = "TaskCallError";
  /** The name of the called tool. */
  readonly tool: string;
  /**
   * `expired`: its task reached the end of its life. `cancelled`: only its task was cancelled; if the calling task is cancelled, calls
   * reject like everything else.
   */
  readonly reason: TaskCallFailure;
  /** The result with `isError` that it returned, or that stands for what its handler threw. */
  readonly result: CallToolResult | undefined;
  /** The JSON-RPC error that answered the call instead of a result. */
  readonly error: JsonRpcError | undefined;

  constructor(tool: string, reason: TaskCallFailure, message: string, details: Details & ErrorOptions = {}) {
    super(message, details);
    this.tool = tool;
    this.reason = reason;
    this.result = details.result;
    this.error = details.error;
  }
}

/** The error that a failed call rejects with. */
export function callErrorOf(tool: string, failure: CallFailure): TaskCallError {
  const { reason } = failure;
  if (reason === "cancelled")
    return new TaskCallError(tool, reason, `The call to tool "${tool}" was cancelled.`);
  if ("error" in failure) {
    const { error } = failure;
    const happened = reason === "expired" ? "did not end in time" : "failed";
    return new TaskCallError(
      tool,
      reason,
      `Tool "${tool}" ${happened}: ${cutText(error.message, longestCause)}`,
      {
        error,
      },
    );
  }
  const result = failure.result as CallToolResult; // as its outcome was stored
  const text = cutText(causeText(result), longestCause);
  return new TaskCallError(tool, reason, `Tool "${tool}" failed${text === "" ? "." : `: ${text}`}`, {
    result,
  });
}

/** What the journal stores of such an error besides its message; details that are too large are left out. */
export function callErrorData({ tool, reason, result, error }: TaskCallError, maxBytes: number): unknown {
  const text = jsonTextOf({ tool, reason, result, error });
  const fits = text !== undefined && Buffer.byteLength(text) <= maxBytes;
  return fits ? (JSON.parse(text) as unknown) : { tool, reason };
}

/** Restores the error; undefined for data of another error with the same name. */
function readCallError(message: string, data: unknown): TaskCallError | undefined {
  const { tool, reason: given, result, error } = (data ?? {}) as Readonly<Record<string, unknown>>;
  const reason = reasons.find((candidate) => candidate === given);
  if (typeof tool !== "string" || reason === undefined) return undefined;
  return new TaskCallError(tool, reason, message, {
    result: result as CallToolResult | undefined,
    error: error as JsonRpcError | undefined,
  });
}

function readExecError(message: string, code: unknown, data: unknown): ExecError | undefined {
  if (code !== "exec_failed" && code !== "exec_lost") return undefined;
  return new ExecError(code, message, data ?? {});
}

function causeText({ content }: CallToolResult): string {
  const texts = (content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.join(" ").trim();
}

/** What is read of an error. Its getters are the author's: one that throws leaves out its part. Never throws. */
export interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly data?: unknown;
  readonly cause?: unknown;
  /** Of an `AggregateError`. */
  readonly errors?: readonly unknown[];
}

export function errorParts(error: Error): ErrorParts {
  const read = (member: string): unknown => {
    try {
      return member in error ? error[member as keyof Error] : undefined;
    } catch {
      return undefined;
    }
  };
  const name = read("name");
  const [code, data, cause, errors] = [read("code"), read("data"), read("cause"), read("errors")];
  return {
    name: typeof name === "string" ? name : "Error",
    message: describeThrown(error),
    ...((typeof code === "string" || Number.isSafeInteger(code)) && { code: code as string | number }),
    ...(data !== undefined && { data }),
    ...(cause !== undefined && { cause }),
    ...(Array.isArray(errors) && { errors }),
  };
}

/** Our faults that can be the end of a step, a question or a wait for an event. */
const ends: readonly FaultCode[] = [
  "step_timeout",
  "worker_crashed",
  "attempt_timeout",
  "input_timeout",
  "input_failed",
  "event_timeout",
  "poll_timeout",
  "no_credentials",
  "no_request",
  // a step whose result cannot be stored
  "not_json",
  "too_large",
  "limit_reached",
];

const builtIn: Readonly<Record<string, new (message: string) => Error>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/**
 * An error of the class that its name and code say, as far as handlers rely on its class. A protocol error is one, so that it still becomes
 * the JSON-RPC error of the call (A-04).
 */
export function errorNamed({ name, message, code }: ErrorParts, data: unknown): Error {
  if (name === "ProtocolError" && typeof code === "number") return new ProtocolError(code, message, data);
  const end = ends.find((candidate) => candidate === code);
  if (name === "HoldfastError" && end !== undefined) return new HoldfastError(end, message, { data });
  const callError = name === "TaskCallError" ? readCallError(message, data) : undefined;
  if (callError !== undefined) return callError;
  const execError = name === "ExecError" ? readExecError(message, code, data) : undefined;
  if (execError !== undefined) return execError;
  const error = named(name, message);
  return Object.assign(error, code === undefined ? {} : { code }, data === undefined ? {} : { data });
}

function named(name: string, message: string): Error {
  if (name === "NonRetryableError") return new NonRetryableError(message);
  const maker = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
  if (maker !== undefined) return new maker(message);
  if (name === "AggregateError") return new AggregateError([], message);
  const error = new Error(message);
  if (name !== "Error")
    Object.defineProperty(error, "name", { value: name, writable: true, configurable: true });
  return error;
}

/** A text for any thrown value. Never throws. */
export function describeThrown(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message);
    const text = String(thrown);
    if (text !== "[object Object]") return text;
    const { message } = thrown as { readonly message?: unknown };
    return typeof message === "string" ? message : (jsonTextOf(thrown) ?? text);
  } catch {
    return "The handler threw a value that has no text.";
  }
}

/** Never throws, unlike `instanceof` of a hostile proxy. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

/** The JSON text of `value`, or undefined if JSON cannot carry it. Throws only if its strings need more than the `room` there is. */
export function jsonTextOf(value: unknown, room?: TextRoom): string | undefined {
  try {
    if (room === undefined) return JSON.stringify(value);
    return JSON.stringify(value, (_, each: unknown) => {
      if (typeof each === "string") room.take(each);
      return each;
    });
  } catch (error) {
    if (room?.refuses(error) === true) throw error;
    return undefined;
  }
}

/** Causes may form a circle. */
const mostCauses = 10;

/** Per error, in UTF-16 units: more than any reader keeps, and small enough to join, even for huge errors. */
const longestStack = 40_000;

/** The stack of a thrown value, with those of its causes; undefined if it has none. Never throws. */
export function thrownStack(thrown: unknown): string | undefined {
  const stacks: string[] = [];
  try {
    let at: unknown = thrown;
    for (let depth = 0; at instanceof Error && depth < mostCauses; depth++) {
      if (at.stack !== undefined) stacks.push(String(at.stack).slice(0, longestStack));
      at = at.cause;
    }
  } catch {
    // Its getters are the author's.
  }
  return stacks.length === 0 ? undefined : stacks.join("\ncaused by: ");
}

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
