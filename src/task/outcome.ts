import type { Blocked } from "./blocked.ts";

/**
 * The states of a task, and how it can end: with a result, a result that reports an error, or an error.
 * Outcome bodies are raw JSON text that is stored and returned unchanged.
 */

/**
 * The internal state of a task. `queued`: no attempt holds it. `running`: an attempt holds it under its token. `settled` and `cancelled`
 * are final.
 */
export type TaskState = "queued" | "running" | "settled" | "cancelled";

/**
 * The state of a task as seen from outside, before a generation translates it. `input_required` is not stored: it is an unfinished task
 * with open inputs.
 */
type TaskStatus = "working" | "input_required" | "settled" | "cancelled";

export const taskStates: readonly TaskState[] = ["queued", "running", "settled", "cancelled"];

export function isTerminal(state: TaskState): boolean {
  return state === "settled" || state === "cancelled";
}

/** The external status of a record with this state and this number of open inputs. A blocked task takes no answers into account. */
export function statusOf(task: {
  readonly state: TaskState;
  readonly openInputs: number;
  readonly blocked?: Blocked | undefined;
}): TaskStatus {
  switch (task.state) {
    case "settled":
    case "cancelled":
      return task.state;
    case "queued":
    case "running":
      return task.openInputs > 0 && task.blocked === undefined ? "input_required" : "working";
  }
}

/** A JSON-RPC error object, as on the wire. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * How a request was answered: with a result, a result that reports a tool error (`isError: true`), or a JSON-RPC error. The generations
 * differ in which of these count as failures.
 */
export type OutcomeKind = "result" | "error_result" | "error";

/**
 * The answer to the request. `body` is the raw JSON text of the result or the error object, so that every replay is the same, byte for
 * byte. Stores never parse and rewrite it.
 */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly body: string;
}

export function resultOutcome(result: object): Outcome {
  return { kind: kindOfResult(result), body: JSON.stringify(result) };
}

/** The result of a failed tool, with the reason. */
export function errorResult(text: string): Outcome {
  return resultOutcome({ content: [{ type: "text", text }], isError: true });
}

export function kindOfResult(result: object): Extract<OutcomeKind, "result" | "error_result"> {
  return "isError" in result && result.isError === true ? "error_result" : "result";
}

export function errorOutcome(error: JsonRpcError): Outcome {
  return { kind: "error", body: JSON.stringify(error) };
}

/** How a tool call by a task failed, as stored in the task's journal. */
export type CallFailure =
  /** with a result with `isError`, or with an error */
  | { readonly reason: "failed"; readonly result: unknown }
  | { readonly reason: "failed" | "expired"; readonly error: JsonRpcError }
  | { readonly reason: "cancelled" };

/** What the calling task's journal stores: exactly one of `value` and `error`, raw JSON. */
interface CallEnd {
  readonly value: string | null;
  readonly error: string | null;
}

/** The end of a call, from its task. A null outcome means that it was cancelled. The outcome's text stays unchanged. */
export function callEndOf(outcome: Outcome | null, expired: boolean): CallEnd {
  if (outcome === null) return { value: null, error: '{"reason":"cancelled"}' };
  const { kind, body } = outcome;
  if (kind === "result") return { value: body, error: null };
  const reason = expired ? "expired" : "failed";
  const member = kind === "error_result" ? "result" : "error";
  return { value: null, error: `{"reason":"${reason}","${member}":${body}}` };
}

const mark = "holdfast/expired";

/** The error of a task that reached its end of life unfinished (A-30). Its data tells it from other failures. */
export const expiredError = {
  code: -32603,
  message: "The task expired before it ended.",
  data: { [mark]: true },
} as const satisfies JsonRpcError;

/** Whether a task's error is this one, from any server. */
export function isExpiredError({ data }: JsonRpcError): boolean {
  return typeof data === "object" && data !== null && mark in data && data[mark] === true;
}

/** What the end of a process is to a task that it ran. `suspicion.ts` decides it. */

/** What crashes have to do with a task. Times are epoch milliseconds. */
export interface Suspicion {
  /** How many of its crashes in a row count against nobody, because other tasks may have caused them. */
  readonly shared: number;
  /** When it became a suspect; null for one that is none yet. */
  readonly since: number | null;
  /** When it made progress again, or ended; null before. */
  readonly clearedAt: number | null;
}

/** How a crash counts for a task: not at all, because it was tried as the only suspect, or because no other can have caused it. */
export type Blame = "none" | "tried" | "alone";

/** What the loss of an attempt has to do with its process. */
export interface Loss {
  readonly blame: Blame;
  /** How many other tasks were running there. */
  readonly others: number;
}

/** It was the only task that ran there. */
export const lostAlone: Loss = { blame: "alone", others: 0 };

/** What an attempt stores of the end of its process. */
export function lossText({ blame, others }: Loss): string {
  const gone = "The process that ran it is gone.";
  if (others === 0) return gone;
  const beside = `It ran ${others === 1 ? "another task" : `${others} other tasks`} too`;
  const counts = {
    none: "so this does not count against the task.",
    tried: "but no other that is suspected of ending processes, so this counts against the task.",
    alone: "but each of those has made progress since its last crash, so this counts against the task.",
  }[blame];
  return `${gone} ${beside}, ${counts}`;
}
