import type { InputFailure, InputRequest, InputResult, OnInput, OnInputError } from "./input-request.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import { unlessAborted } from "../unless-aborted.ts";
import type { ClientEvents } from "../events/client-events.ts";
import type { OpenQuestion } from "../task/remote-task.ts";

/** What the user's callbacks made of a question. */
export type UserAnswer =
  | { readonly kind: "answer"; readonly result: InputResult }
  | { readonly kind: "cancel_task" | "leave_open"; readonly error: unknown };

export interface UserCallbacks {
  readonly onInput: OnInput | undefined;
  readonly onInputError: OnInputError | undefined;
  /** Whether this client declared that it answers such questions; no others are put to the user. */
  readonly declares: (question: OpenQuestion) => boolean;
  readonly events: ClientEvents;
}

interface AskedQuestion extends OpenQuestion {
  readonly key: string;
  readonly taskId: string | null;
  /** The call that asks before it makes a task, as events name it. */
  readonly callId?: string;
}

/**
 * Puts a question to the user. Input responses cannot hold errors, so a failure becomes the answer "cancel" where the
 * method has one, and otherwise the end of the task; what a task asks that this client did not declare is left
 * to the one that did. Rejects only when the signal aborts, or `onInputError` throws.
 */
export async function askUser(
  question: AskedQuestion,
  callbacks: UserCallbacks,
  signal: AbortSignal,
): Promise<UserAnswer> {
  const { key, method, taskId } = question;
  const { events } = callbacks;
  const about = aboutOf(question);
  try {
    const result = await ask(question, callbacks, signal);
    const action = "action" in result ? { action: String(result.action) } : {};
    events.tell({ type: "question_answered", ...about, ...action });
    return { kind: "answer", result };
  } catch (error) {
    if (signal.aborted) events.tell({ type: "question_withdrawn", ...about });
    signal.throwIfAborted();
    const effect = effectOf({ key, method, taskId, error }, question, callbacks);
    events.tell({ type: "question_unanswered", ...about, effect });
    if (effect === "cancel_elicitation") return { kind: "answer", result: { action: "cancel" } };
    return { kind: effect, error };
  }
}

async function ask(
  question: AskedQuestion,
  { onInput, declares, events }: UserCallbacks,
  signal: AbortSignal,
): Promise<InputResult> {
  const request = toRequest(question, signal);
  if (onInput === undefined) throw new Error("There is no onInput to answer it");
  if (!declares(question))
    throw new Error(`This client did not declare that it answers such a ${question.method}`);
  events.tell({ type: "question_asked", ...aboutOf(question) });
  return checkResult(question.method, await unlessAborted(onInput(request), signal));
}

/** What events tell of a question: not what it says. */
function aboutOf({ key, method, taskId, callId }: AskedQuestion): Omit<AskedQuestion, "params"> {
  return { key, method, taskId, ...(callId !== undefined && { callId }) };
}

function effectOf(
  failure: InputFailure,
  question: AskedQuestion,
  { onInputError, declares }: UserCallbacks,
): "cancel_elicitation" | "cancel_task" | "leave_open" {
  const decision = onInputError?.(failure) ?? undefined;
  // Somebody else's question: a client that said it answers none must not overrule the one that does.
  if (question.taskId !== null && !declares(question)) return decision ?? "leave_open";
  const decidesOnTask = question.taskId !== null && decision !== undefined;
  if (question.method === "elicitation/create" && !decidesOnTask) return "cancel_elicitation";
  return decision ?? "cancel_task";
}

const actions: ReadonlySet<unknown> = new Set(["accept", "decline", "cancel"]);

/** The server drops an answer of another form, and the question would stay open. */
function checkResult(method: string, result: InputResult): InputResult {
  if (!isJsonObject(result)) throw new TypeError("onInput returned no result object");
  const { action, content, roots } = result;
  const fits =
    method === "elicitation/create"
      ? actions.has(action)
      : method === "roots/list"
        ? Array.isArray(roots)
        : content !== undefined;
  if (!fits) throw new TypeError(`onInput returned something else than the result of ${method}`);
  return result;
}

function toRequest({ key, method, params, taskId }: AskedQuestion, signal: AbortSignal): InputRequest {
  const common = { key, taskId, signal };
  if (method === "elicitation/create" && isElicitation(params)) return { ...common, method, params };
  if (method === "sampling/createMessage" && isSampling(params)) return { ...common, method, params };
  if (method === "roots/list") return { ...common, method, params };
  throw new Error(`The server asks for ${method} in a form that this client does not know`);
}

type ParamsOf<Method extends InputRequest["method"]> = Extract<InputRequest, { method: Method }>["params"];

// Looser than the SDK's schemas, which refuse what newer servers add: what is shown first must be there.
function isElicitation(params: object): params is ParamsOf<"elicitation/create"> {
  return "message" in params && typeof params.message === "string";
}

function isSampling(params: object): params is ParamsOf<"sampling/createMessage"> {
  return "messages" in params && Array.isArray(params.messages);
}
