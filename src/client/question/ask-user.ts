import type { InputFailure, InputRequest, InputResult, OnInput, OnInputError } from "./input-request.ts";
import { isJsonObject } from "../../generation/json-object.ts";
import type { OpenQuestion } from "../task/remote-task.ts";

/** What the user's callbacks made of a question. */
export type UserAnswer =
  | { readonly kind: "answer"; readonly result: InputResult }
  | { readonly kind: "cancel_task" | "leave_open"; readonly error: unknown };

export interface UserCallbacks {
  readonly onInput: OnInput | undefined;
  readonly onInputError: OnInputError | undefined;
  /** Whether this client declared that it answers such requests. */
  readonly declares: (method: string) => boolean;
}

interface AskedQuestion extends OpenQuestion {
  readonly key: string;
  readonly taskId: string | null;
}

/**
 * Puts a question to the user. Input responses cannot hold errors, so a failure becomes the answer "cancel" where the
 * method has one, and otherwise the end of the task. Rejects only when the signal aborts, or `onInputError`
 * throws.
 */
export async function askUser(
  question: AskedQuestion,
  { onInput, onInputError, declares }: UserCallbacks,
  signal: AbortSignal,
): Promise<UserAnswer> {
  try {
    const request = toRequest(question, signal);
    if (onInput === undefined) throw new Error("There is no onInput to ask");
    return {
      kind: "answer",
      result: checkResult(question.method, await unlessAborted(onInput(request), signal)),
    };
  } catch (error) {
    signal.throwIfAborted();
    const { key, method, taskId } = question;
    const failure: InputFailure = { key, method, taskId, error };
    const decision = onInputError?.(failure);
    // Somebody else's question: a client that said it answers none must not overrule the one that does.
    const forOthers = onInput === undefined && taskId !== null && !declares(method);
    if (forOthers) return { kind: decision ?? "leave_open", error };
    if (method === "elicitation/create") return { kind: "answer", result: { action: "cancel" } };
    return { kind: decision ?? "cancel_task", error };
  }
}

/** The callback may never settle; then its question's end must still be ours. */
async function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  if (signal.aborted) onAbort(); // the callback itself may have aborted it
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
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
