import type { HandlerResultTypeMap, RequestTypeMap } from "@modelcontextprotocol/client";
import type { InputMethod } from "../../task/input.ts";

interface InputRequestOf<Method extends InputMethod> {
  /** The server's name for the question; unique within a task, not between a task and the call that made it. */
  readonly key: string;
  readonly method: Method;
  /** As the server sent them: show them with the same care as any other request of a server. */
  readonly params: NonNullable<RequestTypeMap[Method]["params"]>;
  /** The task that asks; `null` before there is one, and for calls made through `client.sdk`. */
  readonly taskId: string | null;
  /** Aborts when nobody needs the answer any more: the task ended, or took the question back. */
  readonly signal: AbortSignal;
}

/** A question from the server to the user, told apart by `method`. */
export type InputRequest = { [Method in InputMethod]: InputRequestOf<Method> }[InputMethod];

/** The result object that belongs to the request's method. */
export type InputResult = HandlerResultTypeMap[InputMethod];

/**
 * Answers one question.
 *
 * ```ts
 * const onInput: OnInput = async (request) => {
 *   if (request.method !== "elicitation/create") throw new Error(`cannot answer ${request.method}`);
 *   return (await confirm(request.params.message)) ? { action: "accept", content: {} } : { action: "decline" };
 * };
 * ```
 */
export type OnInput = (request: InputRequest) => Promise<InputResult>;

/** A question that `onInput` threw on, or that there was no `onInput` for. */
export interface InputFailure {
  readonly key: string;
  readonly method: string;
  readonly taskId: string | null;
  readonly error: unknown;
}

/**
 * Told of each question that could not be answered, and decides about the task that asks: `"leave_open"` has the question
 * wait for somebody else, `"cancel_task"` ends the task. Without a decision an elicitation is answered with
 * `{ action: "cancel" }`, and the task of another question, which has no such answer, is cancelled. Before a task exists
 * there is nothing to decide: an elicitation is answered so, and otherwise the call fails (`unanswered`).
 */
export type OnInputError = (failure: InputFailure) => "cancel_task" | "leave_open" | undefined | void;
