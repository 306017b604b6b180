import { ProtocolError } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { describeThrown, jsonTextOf } from "./describe-thrown.ts";
import { NonRetryableError } from "./non-retryable-error.ts";
import { callErrorData, readCallError, TaskCallError } from "./task-call-error.ts";

/** Our faults that end a step, a question or a wait for an event. */
const ends = ["step_timeout", "input_timeout", "input_failed", "event_timeout"] as const;

interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly data?: unknown;
}

/** A step's final error in the journal: raw JSON of its name, message, code and data. Never throws. */
export function encodeError(error: unknown, maxBytes: number): string {
  const text = JSON.stringify(storedError(error, maxBytes));
  if (Buffer.byteLength(text) <= maxBytes) return text;
  return JSON.stringify({ name: "Error", message: `An error of more than ${maxBytes} bytes was thrown.` });
}

/** The readable parts of an error. Its getters are the author's, and may throw. */
function storedError(error: unknown, maxBytes: number): StoredError {
  const message = describeThrown(error);
  try {
    if (!(error instanceof Error)) return { name: "Error", message };
    if (error instanceof TaskCallError) {
      const others = Buffer.byteLength(JSON.stringify({ name: error.name, message, data: null }));
      return { name: error.name, message, data: callErrorData(error, maxBytes - others) };
    }
    return { name: textOf(error.name, "Error"), message, ...codeOf(error), ...dataOf(error) };
  } catch {
    return { name: "Error", message };
  }
}

/**
 * The error that handlers get from a failed step, on the first run and on a replay. A protocol error is restored as one, so that it still
 * becomes the JSON-RPC error of the call.
 */
export function decodeError(json: string, cause?: unknown): Error {
  const { name, message, code, data } = JSON.parse(json) as StoredError;
  if (name === "ProtocolError" && typeof code === "number") return new ProtocolError(code, message, data);
  const end = ends.find((candidate) => candidate === code);
  if (name === "HoldfastError" && end !== undefined) return new HoldfastError(end, message, { data });
  const options = cause === undefined ? undefined : { cause };
  const callError = name === "TaskCallError" ? readCallError(message, data, options) : undefined;
  if (callError !== undefined) return callError;
  const error =
    name === "NonRetryableError" ? new NonRetryableError(message, options) : named(name, message, options);
  return Object.assign(error, code === undefined ? {} : { code }, data === undefined ? {} : { data });
}

function named(name: string, message: string, options: ErrorOptions | undefined): Error {
  const error = new Error(message, options);
  error.name = name;
  return error;
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

function codeOf(error: Error): { code?: string | number } {
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" || Number.isSafeInteger(code) ? { code: code as string | number } : {};
}

/** If JSON cannot carry the data, the error itself is still kept. */
function dataOf(error: Error): { data?: unknown } {
  const text = "data" in error ? jsonTextOf(error.data) : undefined;
  return text === undefined ? {} : { data: JSON.parse(text) as unknown };
}
