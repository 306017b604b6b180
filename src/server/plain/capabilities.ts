import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { missingForInput, type InputRequest } from "../../task/input.ts";
import { HoldfastError } from "../../task/fault.ts";

/** What `task_answer` can answer in the client's place. */
const stoodInFor: readonly string[] = ["elicitation", "sampling"];

/** What a task may ask of a caller with these capabilities: with tickets, also what `task_answer` can answer. */
export function askable(capabilities: JsonObject, policy: PlainPolicy): JsonObject {
  if (policy === "wait") return capabilities;
  const { elicitation, sampling = {} } = capabilities;
  return { ...capabilities, sampling, elicitation: withForms(elicitation) };
}

/** Those of the tool's requirements that the client has not declared and nothing stands in for. */
export function lacking(
  { requires }: Tool,
  capabilities: JsonObject,
  policy?: PlainPolicy,
): readonly string[] {
  return requires.filter(
    (name) => !isJsonObject(capabilities[name]) && !(policy === "ticket" && stoodInFor.includes(name)),
  );
}

/** How a call is answered that lacks what its tool needs. */
export function cannotAsk({ name }: Tool, missing: readonly string[]): string {
  return `Tool ${name} needs what the client did not declare: ${missing.join(", ")}.`;
}

/**
 * Before 2026-07-28, the fault of a call that asks for a task which could not ask its client what the tool needs; else
 * undefined. A call without a task is answered with a result that says the same.
 */
export function refusedAsTask(tool: Tool, capabilities: JsonObject): HoldfastError | undefined {
  const missing = lacking(tool, capabilities);
  return missing.length === 0 ? undefined : new HoldfastError("invalid_params", cannotAsk(tool, missing));
}

/** Whether the client can be asked this question itself. */
export function canBeAsked({ method, params }: InputRequest, capabilities: JsonObject): boolean {
  return missingForInput(method, JSON.parse(params) as JsonObject, capabilities) === undefined;
}

/** A client that names no mode shows forms, and one that names some has to name this. */
function withForms(elicitation: unknown): JsonObject {
  if (!isJsonObject(elicitation)) return {};
  return Object.keys(elicitation).length === 0 ? elicitation : { ...elicitation, form: {} };
}
