import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { shownAddress } from "../../generation/web-address.ts";
import type { InputAnswer, InputRequest } from "../../task/journal.ts";

/** Answers that refuse a question. */
const refusals: readonly string[] = ["decline", "cancel"];

/** A field of a question, with its schema as the model reads it. */
interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: unknown;
}

/** A question as structured content of a ticket. */
export interface QuestionData {
  readonly message: string;
  readonly url?: string;
  readonly prompt?: string;
  readonly fields: readonly Field[];
  /** How to write the answer. */
  readonly answer: string;
}

export interface DescribedQuestion {
  /** What the model reads. */
  readonly text: string;
  /** How to write the answer as the argument `answer` of `task_answer`. */
  readonly form: string;
  readonly data: QuestionData;
}

export function describeQuestion({ method, params }: InputRequest): DescribedQuestion {
  const asked = JSON.parse(params) as JsonObject;
  switch (method) {
    case "elicitation/create": {
      const message = String(asked["message"]);
      const url = typeof asked["url"] === "string" ? asked["url"] : undefined;
      const fields = fieldsOf(asked["requestedSchema"]);
      const lines = [
        `Question: ${message}`,
        ...(url === undefined ? [] : [`The user has to open this link: ${shownAddress(url)}`]),
        ...fieldLines(fields),
      ];
      const form = 'an object with the fields above, or "decline" or "cancel"';
      const answer = 'an object with these fields, or "decline" or "cancel"';
      return {
        text: lines.join("\n"),
        form,
        data: { message, ...(url === undefined ? {} : { url }), fields, answer },
      };
    }
    case "sampling/createMessage": {
      const prompt = promptOf(asked);
      const form = 'your message as a string, or "decline"';
      const data = { message: "Write the next message.", prompt, fields: [], answer: form };
      return { text: `Question: write the next message.\n${prompt}`, form, data };
    }
    case "roots/list": {
      const data = { message: "Which folders may be used?", fields: [], answer: '"decline"' };
      return { text: "Question: which folders may be used?", form: '"decline"', data };
    }
  }
}

/** What the model answered, in the form of the question's method. The runtime checks whether it fits the question. */
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
  // The server does not know which model answered.
  const value = { role: "assistant", model: "unknown", content: { type: "text", text } };
  return { key, value: JSON.stringify(value) };
}

function fieldsOf(schema: unknown): readonly Field[] {
  const { properties, required } = isJsonObject(schema) ? schema : {};
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, field]) => ({
    name,
    required: isRequired(name),
    schema: field,
  }));
}

function fieldLines(fields: readonly Field[]): string[] {
  if (fields.length === 0) return ["Fields: none."];
  const line = ({ name, required, schema }: Field): string =>
    `- ${name} (${required ? "required" : "optional"}): ${JSON.stringify(schema)}`;
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

/** Models often send an object as a JSON string. */
function formOf(answer: unknown): unknown {
  if (typeof answer !== "string") return answer;
  try {
    return JSON.parse(answer) as unknown;
  } catch {
    return answer;
  }
}
