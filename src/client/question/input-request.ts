import type { HandlerResultTypeMap, RequestTypeMap } from "@modelcontextprotocol/client";
import type { InputMethod } from "../../task/journal.ts";

interface InputRequestOf<Method extends InputMethod> {
  /** The server's name for the question. It is unique within a task, but the call before it may have used it too. */
  readonly key: string;
  readonly method: Method;
  /** As the server sent them. Treat them with the same care as any other request of a server. */
  readonly params: NonNullable<RequestTypeMap[Method]["params"]>;
  /** The task that asks; `null` before there is one, and for calls made through `client.sdk`. */
  readonly taskId: string | null;
  /** Aborts when the answer is no longer needed: the task ended or withdrew the question. */
  readonly signal: AbortSignal;
}

/** A question from the server to the user, discriminated by `method`. */
export type InputRequest = { [Method in InputMethod]: InputRequestOf<Method> }[InputMethod];

/** The result of the request's method. */
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

/** A question on which `onInput` threw, or for which there is no `onInput`. */
export interface InputFailure {
  readonly key: string;
  readonly method: string;
  readonly taskId: string | null;
  readonly error: unknown;
}

/**
 * Called with each question that could not be answered; decides what happens to the task. `"leave_open"` leaves the question for another
 * client, `"cancel_task"` cancels the task. By default an elicitation is answered with `{ action: "cancel" }`, and a task with any other
 * question is cancelled. Before a task exists there is no choice: an elicitation is answered with `cancel`, any other question fails the
 * call (`unanswered`).
 */
export type OnInputError = (failure: InputFailure) => "cancel_task" | "leave_open" | undefined | void;
