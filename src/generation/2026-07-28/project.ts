import type { InputMethod } from "../../task/input.ts";
import type { JsonObject } from "../json-object.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { completeResult } from "./complete-result.ts";
import { errorOf, resultOf, wireTask, type WireError, type WireTask } from "./wire-task.ts";

/** A question to the client, as in `inputRequests`. */
export interface WireInputRequest {
  readonly method: InputMethod;
  readonly params: JsonObject;
}

/** A task with the members of its status. */
export type DetailedTask = WireTask & {
  readonly inputRequests?: Readonly<Record<string, WireInputRequest>>;
  readonly result?: JsonObject;
  readonly error?: WireError;
};

export function detailedTask(view: TaskSnapshot): DetailedTask {
  const task = wireTask(view);
  switch (task.status) {
    case "working":
    case "cancelled":
      return task;
    case "input_required":
      return { ...task, inputRequests: inputRequests(view) };
    case "completed":
      return { ...task, result: completeResult(resultOf(view)) };
    case "failed":
      return { ...task, error: errorOf(view) };
  }
}

/**
 * The answer to `tasks/get` as JSON text, with more in `_meta`. The result of a completed task is stored as text and sent unchanged: it may
 * be large, and each client reads it at least once.
 */
export function detailedTaskText(view: TaskSnapshot, meta: JsonObject): string {
  const { outcome } = view;
  const task = wireTask(view);
  if (task.status !== "completed" || outcome === null) {
    return JSON.stringify({ ...withFirstMeta(detailedTask(view), meta), resultType: "complete" });
  }
  const shown = JSON.stringify(withFirstMeta(task, meta));
  return `${shown.slice(0, -1)},"result":${completeText(outcome.body)},"resultType":"complete"}`;
}

function withFirstMeta(task: WireTask, meta: JsonObject): JsonObject {
  return { ...task, _meta: { ...meta, ...task._meta } };
}

/** Like `completeResult`, on JSON text without whitespace around it. */
function completeText(body: string): string {
  const isPlain = body.startsWith('{"') && body.endsWith("}") && !body.includes('"resultType"');
  return isPlain
    ? `${body.slice(0, -1)},"resultType":"complete"}`
    : JSON.stringify(completeResult(JSON.parse(body) as JsonObject));
}

/** All questions that are open now; the next poll repeats them. */
function inputRequests({ inputs }: TaskSnapshot): Record<string, WireInputRequest> {
  // fromEntries keeps any key, `__proto__` too, as a plain member
  return Object.fromEntries(
    inputs.map(({ key, method, params }) => [key, { method, params: JSON.parse(params) as JsonObject }]),
  );
}
