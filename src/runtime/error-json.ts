import { ProtocolError } from "@modelcontextprotocol/server";
import { HoldfastError } from "../task/fault.ts";

/** Faults of ours that are how a step or a question ended. */
const timeouts = ["step_timeout", "input_timeout"] as const;

interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
  readonly data?: unknown;
}

/** What a step's final error leaves in the journal: raw JSON of its name, message, code and data. */
export function encodeError(error: unknown): string {
  const stored: StoredError = isErrorLike(error)
    ? { name: error.name, message: error.message, ...codeOf(error), ...dataOf(error) }
    : { name: "Error", message: String(error) };
  return JSON.stringify(stored);
}

/**
 * The error that handlers get from a failed step, on the first run as on a replay. A protocol error comes back as
 * one, so that it still becomes the JSON-RPC error of the call.
 */
export function decodeError(json: string, cause?: unknown): Error {
  const { name, message, code, data } = JSON.parse(json) as StoredError;
  if (name === "ProtocolError" && typeof code === "number") return new ProtocolError(code, message, data);
  const timeout = timeouts.find((candidate) => candidate === code);
  if (name === "HoldfastError" && timeout !== undefined) return new HoldfastError(timeout, message);
  const error = new Error(message, cause === undefined ? undefined : { cause });
  error.name = name;
  return Object.assign(error, code === undefined ? {} : { code }, data === undefined ? {} : { data });
}

function isErrorLike(value: unknown): value is Error {
  return value instanceof Error;
}

function codeOf(error: Error): { code?: string | number } {
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" || typeof code === "number" ? { code } : {};
}

function dataOf(error: Error): { data?: unknown } {
  const data: unknown = "data" in error ? error.data : undefined;
  try {
    return data === undefined ? {} : { data: JSON.parse(JSON.stringify(data)) as unknown };
  } catch {
    return {}; // data that JSON cannot carry is no reason to lose the error itself
  }
}
