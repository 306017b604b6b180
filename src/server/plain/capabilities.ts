import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { PlainPolicy, Tool } from "../../runtime/tool/tool.ts";
import { missingForInput, type InputRequest } from "../../task/input.ts";

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
  policy: PlainPolicy | undefined,
): readonly string[] {
  return requires.filter(
    (name) => !isJsonObject(capabilities[name]) && !(policy === "ticket" && stoodInFor.includes(name)),
  );
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
