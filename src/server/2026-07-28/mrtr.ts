import { answersIn, inputRequiredResult, readRetry } from "../../generation/2026-07-28.ts";
import type { JsonObject } from "../../generation/message.ts";
import { requestHash } from "../../runtime/request-hash.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { GenerationName, TaskRecord, TaskSnapshot } from "../../task/record.ts";
import type { Answer } from "../answer.ts";
import { canBeAsked } from "../plain/capabilities.ts";
import type { ToolRequest } from "../request.ts";
import { openState, sealState, tryOpenState, type Binding } from "./request-state.ts";

/** What a call's state names: the durable task that its questions are of. */
interface Content {
  readonly task: string;
  readonly generation: GenerationName;
}

/** The answer to a call that waits for its task, when the task asks something that its client supports. */
export async function askByAnswer(
  runtime: Runtime,
  { task, inputs }: TaskSnapshot,
  { params, principal, capabilities }: RoundCall,
): Promise<Answer> {
  const asked = inputs.filter((input) => canBeAsked(input, capabilities));
  const questions = asked.map((input) => ({ ...input, params: JSON.parse(input.params) as JsonObject }));
  const content: Content = { task: task.id, generation: task.generation };
  const state = await sealState(runtime, bindingOf(params, principal), content);
  return { result: { ...inputRequiredResult(questions, state) } };
}

export interface RoundCall {
  readonly params: JsonObject;
  readonly principal: string | null;
  readonly capabilities: JsonObject;
}

/**
 * The task that a call continues, after it accepted the answers that came along; undefined for a first call. An answer that does not fit
 * leaves its question open, which is then asked again. With `orElse` a state may be of another kind; otherwise such a state rejects with
 * `invalid_params`, as does one that is not for this call; `unknown_task` if the task is gone.
 */
export async function resumed(
  runtime: Runtime,
  { params, access }: Pick<ToolRequest, "params" | "access">,
  principal: string | null,
  orElse?: "another kind",
): Promise<TaskRecord | undefined> {
  const { requestState, inputResponses } = readRetry(params);
  if (requestState === undefined) return undefined;
  const binding = bindingOf(params, principal);
  const opened =
    orElse === undefined
      ? { content: await openState(runtime, binding, requestState) }
      : await tryOpenState(runtime, binding, requestState);
  if (opened === undefined) return undefined;
  const { task: id, generation } = opened.content as Content;
  const requestor = { generation, principal, scopes: access?.scopes };
  const { task } = await runtime.get(id, requestor);
  // Each by itself: an invalid answer must not cause the valid ones to be asked for again.
  for (const answer of answersIn(inputResponses)) {
    try {
      await runtime.answer(id, requestor, [answer]);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "invalid_params") throw error;
    }
  }
  return task;
}

/** Another call has no use for the state, nor has another caller. */
function bindingOf(params: JsonObject, principal: string | null): Binding {
  return ["plain", requestHash(params["name"], params["arguments"] ?? {}), principal];
}
