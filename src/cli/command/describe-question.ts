import { isJsonObject } from "../../generation/message.ts";
import { shownAddress } from "../../generation/web-address.ts";
import type { OpenQuestion } from "../../client/task/remote-task.ts";
import { describeType, readInputSchema } from "../arguments/input-schema.ts";

/** A question in one line: its key, message and fields. */
export function describeQuestion(key: string, { method, params }: OpenQuestion): string {
  const { message, requestedSchema, url } = params;
  if (method !== "elicitation/create") return `${key}: ${method}`;
  const text = typeof message === "string" ? message : "";
  if (typeof url === "string") return `${key}: ${text} ${shownAddress(url)}`;
  if (!isJsonObject(requestedSchema)) return `${key}: ${text}`;
  const { properties, required, root } = readInputSchema(requestedSchema);
  const fields = [...properties].map(
    ([name, schema]) => `${name}=${describeType(schema, root)}${required.includes(name) ? "" : "?"}`,
  );
  return `${key}: ${text} ${fields.join(" ")}`.trimEnd();
}
