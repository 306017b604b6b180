import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { isForPeople } from "../../runtime/questions/open-questions.ts";
import type { Tool } from "../../runtime/tool/tool.ts";
import type { PlainPolicy } from "../../runtime/tool/tool-options.ts";
import { missingForInput, type InputRequest } from "../../task/journal.ts";
import { HoldfastError } from "../../task/fault.ts";

/** What the model can answer with a polling tool if the client cannot be asked. */
const answeredByModel: readonly string[] = ["elicitation", "sampling"];

/** The questions that a task may ask: those that the client can answer and, with tickets, those that its model can. */
export function askable(capabilities: JsonObject, policy: PlainPolicy): JsonObject {
  if (policy === "wait") return capabilities;
  const { elicitation, sampling = {} } = capabilities;
  return { ...capabilities, sampling, elicitation: withForms(elicitation) };
}

/** What the tool requires and neither the client has declared nor, with tickets, its model can answer. */
export function lacking(
  { requires }: Tool,
  capabilities: JsonObject,
  policy?: PlainPolicy,
): readonly string[] {
  return requires.filter(
    (name) => !isJsonObject(capabilities[name]) && !(policy === "ticket" && answeredByModel.includes(name)),
  );
}

/** The error text for a call whose client lacks what the tool requires. */
export function cannotAsk({ name }: Tool, missing: readonly string[]): string {
  return `Tool ${name} needs client capabilities that the client did not declare: ${missing.join(", ")}.`;
}

/**
 * Before 2026-07-28, the fault of a call that asks for a task and whose client lacks what the tool requires. A call without
 * a task gets the same text as a result.
 */
export function refusedAsTask(tool: Tool, capabilities: JsonObject): HoldfastError | undefined {
  const missing = lacking(tool, capabilities);
  return missing.length === 0 ? undefined : new HoldfastError("invalid_params", cannotAsk(tool, missing));
}

/** Whether the client itself can be asked the question. */
export function canBeAsked({ method, params }: InputRequest, capabilities: JsonObject): boolean {
  return missingForInput(method, JSON.parse(params) as JsonObject, capabilities) === undefined;
}

/** Whether the model answers the question, since its client cannot be asked. */
export function isForModel(question: InputRequest, capabilities: JsonObject): boolean {
  return !canBeAsked(question, capabilities) && !isForPeople(question);
}

/** A client that names no mode of elicitation supports forms; one that names some supports these only. */
function withForms(elicitation: unknown): JsonObject {
  if (!isJsonObject(elicitation)) return {};
  return Object.keys(elicitation).length === 0 ? elicitation : { ...elicitation, form: {} };
}
