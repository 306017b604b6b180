import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { InputAnswer, InputRequest } from "../../task/input.ts";

/** By which a question is refused. */
const refusals: readonly string[] = ["decline", "cancel"];

/** A question as a model can read it, and how its answer is written, as the value of `answer`. */
export function describeQuestion({ method, params }: InputRequest): { text: string; form: string } {
  const asked = JSON.parse(params) as JsonObject;
  switch (method) {
    case "elicitation/create": {
      const lines = [`Question: ${String(asked["message"])}`];
      if (typeof asked["url"] === "string") lines.push(`To be done at: ${asked["url"]}`);
      lines.push(...fieldsOf(asked["requestedSchema"]));
      return { text: lines.join("\n"), form: 'an object of the fields above, or "decline" or "cancel"' };
    }
    case "sampling/createMessage":
      return {
        text: `Question: write the next message.\n${promptOf(asked)}`,
        form: 'your message as a string, or "decline"',
      };
    case "roots/list":
      return { text: "Question: which folders may be used?", form: '"decline"' };
  }
}

/** The answer in the form of the question's method; whether it fits is for the runtime to judge. */
export function answerFor({ key, method }: InputRequest, answer: unknown): InputAnswer {
  const refused = typeof answer === "string" && refusals.includes(answer);
  if (method === "elicitation/create") {
    const value = refused ? { action: answer } : { action: "accept", content: formOf(answer) };
    return { key, value: JSON.stringify(value) };
  }
  if (refused || method === "roots/list") {
    return { key, error: JSON.stringify({ code: -1, message: "The request was declined." }) };
  }
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  // Which model it was is not known here.
  const value = { role: "assistant", model: "unknown", content: { type: "text", text } };
  return { key, value: JSON.stringify(value) };
}

/** Each field in the words of its schema, which are exact. */
function fieldsOf(schema: unknown): string[] {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  const fields = isJsonObject(properties) ? Object.entries(properties) : [];
  if (!isJsonObject(schema) || fields.length === 0) return ["Fields: none."];
  const { required } = schema;
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const line = ([name, field]: [string, unknown]): string =>
    `- ${name} (${isRequired(name) ? "required" : "optional"}): ${JSON.stringify(field)}`;
  return ["Fields:", ...fields.map(line)];
}

function promptOf({ systemPrompt, messages }: JsonObject): string {
  const lines = Array.isArray(messages) ? messages.filter(isJsonObject).map(messageOf) : [];
  return [...(typeof systemPrompt === "string" ? [`system: ${systemPrompt}`] : []), ...lines].join("\n");
}

function messageOf({ role, content }: JsonObject): string {
  const text = isJsonObject(content) && typeof content["text"] === "string" ? content["text"] : undefined;
  return `${String(role)}: ${text ?? JSON.stringify(content)}`;
}

/** Models like to write an object as a text. */
function formOf(answer: unknown): unknown {
  if (typeof answer !== "string") return answer;
  try {
    return JSON.parse(answer) as unknown;
  } catch {
    return answer;
  }
}
