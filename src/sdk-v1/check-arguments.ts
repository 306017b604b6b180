/**
 * What servers on SDK v1 pass, checked at the door: many are plain JavaScript, and the SDK checks nothing.
 * Everything else is refused with `invalid_params`, which says what is allowed.
 */

import { HoldfastError } from "../task/fault.ts";

const statuses = ["working", "input_required", "completed", "failed", "cancelled"];

export function assertCreate(params: unknown, request: unknown): void {
  if (!isObject(params))
    throw invalid("createTask needs an object of options: { ttl, pollInterval, context }.");
  const { ttl, pollInterval, context } = params;
  if (ttl !== undefined && ttl !== null && typeof ttl !== "number")
    throw invalid("The ttl of a task must be a number of milliseconds, or null.");
  if (pollInterval !== undefined && (typeof pollInterval !== "number" || Number.isNaN(pollInterval)))
    throw invalid("The pollInterval of a task must be a number of milliseconds.");
  if (!isObject(request) || typeof request["method"] !== "string")
    throw invalid("The request of a task must be a JSON-RPC request with a method.");
  if (!isJson({ request, context }))
    throw invalid("The request and the context of a task must be plain JSON data.");
}

export function assertStatus(status: unknown, text: unknown): void {
  assertOneOf(status, statuses);
  if (text !== undefined && typeof text !== "string")
    throw invalid("The status message of a task must be a text.");
}

export function assertResult(status: unknown, result: unknown): void {
  assertOneOf(status, ["completed", "failed"]);
  if (!isJson(result)) throw invalid("The result of a task must be plain JSON data.");
}

export function assertMessage(message: unknown, maxSize: unknown): void {
  if (!isObject(message) || !isJson(message)) throw invalid("A queued message must be plain JSON data.");
  if (maxSize !== undefined && (typeof maxSize !== "number" || Number.isNaN(maxSize)))
    throw invalid("The maximum size of a message queue must be a number.");
}

function assertOneOf(status: unknown, allowed: readonly string[]): void {
  if (typeof status === "string" && allowed.includes(status)) return;
  const given = typeof status === "string" ? JSON.stringify(status) : `of type ${typeof status}`;
  throw invalid(`A task cannot be set to the status ${given} here. Allowed: ${allowed.join(", ")}.`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("invalid_params", message);
}
