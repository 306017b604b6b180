import { followerOf } from "../../runtime/wait-for.ts";
import type { OwnContext } from "../../runtime/own-context.ts";
import type { ClientCapabilities } from "@modelcontextprotocol/client";
import type { InputFailure, InputRequest, InputResult, OnInput, OnInputError } from "./input-request.ts";
import { isJsonObject } from "../../generation/message.ts";
import { unlessAborted } from "../unless-aborted.ts";
import type { TraceContext } from "../../task/record.ts";
import type { ClientEvents } from "../client-events.ts";
import type { ClientTracing } from "../client-telemetry.ts";
import type { OpenQuestion } from "../task/remote-task.ts";
import { inTrace, traceOf } from "../trace-in-params.ts";

/** The outcome of a question. */
export type UserAnswer =
  | { readonly kind: "answer"; readonly result: InputResult }
  | { readonly kind: "cancel_task" | "leave_open"; readonly error: unknown };

export interface UserCallbacks {
  readonly onInput: OnInput | undefined;
  readonly onInputError: OnInputError | undefined;
  /** Whether this client declared that it answers such questions; `onInput` gets no others. */
  readonly declares: (question: OpenQuestion) => boolean;
  readonly events: ClientEvents;
  /** For questions that no call or wait of the host asks: they may come on the stream of another caller. */
  readonly inOwnContext: OwnContext;
  /** Undefined where nothing is traced. */
  readonly tracing?: ClientTracing | undefined;
}

interface AskedQuestion extends OpenQuestion {
  readonly key: string;
  readonly taskId: string | null;
  /** The call that asks before its task exists; the id is that of events. */
  readonly callId?: string;
  /** The server's trace context, if its params contain none. */
  readonly trace?: TraceContext | undefined;
}

/**
 * Passes a question to `onInput`. Input responses cannot hold errors, so a failure becomes the answer "cancel" if
 * the method has one, and otherwise cancels the task. A task's question that this client did not declare is
 * left for another client. Rejects only when the signal aborts, or `onInputError` throws.
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
    events.emit({ type: "question_answered", ...about, ...action });
    return { kind: "answer", result };
  } catch (error) {
    if (signal.aborted) events.emit({ type: "question_withdrawn", ...about });
    signal.throwIfAborted();
    const effect = effectOf({ key, method, taskId, error }, question, callbacks);
    events.emit({ type: "question_unanswered", ...about, effect });
    if (effect === "cancel_elicitation") return { kind: "answer", result: { action: "cancel" } };
    return { kind: effect, error };
  }
}

async function ask(
  question: AskedQuestion,
  { onInput, declares, events, tracing }: UserCallbacks,
  signal: AbortSignal,
): Promise<InputResult> {
  const { controller, release } = followerOf(signal);
  try {
    const request = toRequest(question, controller.signal);
    if (onInput === undefined) throw new Error("The client has no onInput to answer the question");
    if (!declares(question))
      throw new Error(`This client did not declare that it can answer this kind of ${question.method}`);
    events.emit({ type: "question_asked", ...aboutOf(question) });
    const trace = question.trace ?? traceOf(question.params);
    const answering = inTrace(tracing, trace, () => onInput(request));
    return checkResult(question.method, await unlessAborted(answering, signal));
  } finally {
    release();
  }
}

/** The fields of a question for events, without its content. */
function aboutOf({ key, method, taskId, callId }: AskedQuestion): Omit<AskedQuestion, "params" | "trace"> {
  return { key, method, taskId, ...(callId !== undefined && { callId }) };
}

function effectOf(
  failure: InputFailure,
  question: AskedQuestion,
  { onInputError, declares }: UserCallbacks,
): "cancel_elicitation" | "cancel_task" | "leave_open" {
  const decision = onInputError?.(failure) ?? undefined;
  // The question is meant for a client that declared it; this one must not decide about the task.
  if (question.taskId !== null && !declares(question)) return decision ?? "leave_open";
  const decidesOnTask = question.taskId !== null && decision !== undefined;
  if (question.method === "elicitation/create" && !decidesOnTask) return "cancel_elicitation";
  return decision ?? "cancel_task";
}

const actions: ReadonlySet<unknown> = new Set(["accept", "decline", "cancel"]);

/** The server would drop an invalid answer, and the question would stay open. */
function checkResult(method: string, result: InputResult): InputResult {
  if (!isJsonObject(result)) throw new TypeError("onInput did not return a result object");
  const { action, content, roots } = result;
  const fits =
    method === "elicitation/create"
      ? actions.has(action)
      : method === "roots/list"
        ? Array.isArray(roots)
        : content !== undefined;
  if (!fits) throw new TypeError(`onInput did not return a result of ${method}`);
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

// Looser than the SDK's schemas, which reject additions of newer servers. Checks only the essential member.
function isElicitation(params: object): params is ParamsOf<"elicitation/create"> {
  return "message" in params && typeof params.message === "string";
}

function isSampling(params: object): params is ParamsOf<"sampling/createMessage"> {
  return "messages" in params && Array.isArray(params.messages);
}

/** A predicate for the questions that a client with these capabilities answers, by method and mode. */
export function declaredBy({
  elicitation,
  sampling,
  roots,
}: ClientCapabilities): (question: OpenQuestion) => boolean {
  return ({ method, params }) => {
    switch (method) {
      case "elicitation/create":
        if (elicitation === undefined) return false;
        // A client that names no mode means forms.
        if (params["mode"] === "url") return elicitation.url !== undefined;
        return elicitation.form !== undefined || elicitation.url === undefined;
      case "sampling/createMessage":
        return sampling !== undefined && (params["tools"] === undefined || sampling.tools !== undefined);
      case "roots/list":
        return roots !== undefined;
      default:
        return false;
    }
  };
}

/** The default capabilities: forms, if there is an `onInput`. */
export function defaultCapabilities(canAsk: boolean): ClientCapabilities {
  return canAsk ? { elicitation: { form: {} } } : {};
}
