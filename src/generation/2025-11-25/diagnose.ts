import type { JsonRpcError } from "../../task/outcome.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { wireStatus } from "./wire-task.ts";

/** In code points: the status text says what went wrong, the whole of it is for `tasks/result`. */
const longest = 200;

/** Why a task failed, where its handler set no text (C-117); undefined for every other task. */
export function diagnose({ task, outcome }: TaskSnapshot): string | undefined {
  if (task.statusMessage || outcome === null || wireStatus(task) !== "failed") return undefined;
  const body: unknown = JSON.parse(outcome.body);
  return cut(outcome.kind === "error" ? errorText(body as JsonRpcError) : resultText(body));
}

function errorText({ code, message }: JsonRpcError): string {
  return message === "" ? `The request failed with code ${code}.` : message;
}

/** Tools say in the first text of their result what went wrong. */
function resultText(result: unknown): string {
  const content = isJsonObject(result) ? result["content"] : undefined;
  const texts = (Array.isArray(content) ? content : []).filter(isText);
  return texts[0]?.text ?? "The tool answered with an error.";
}

function isText(block: unknown): block is JsonObject & { readonly text: string } {
  return isJsonObject(block) && typeof block["text"] === "string" && block["text"] !== "";
}

/** Never between the two halves of a character that takes two. */
function cut(text: string): string {
  if (text.length <= longest) return text;
  // no code point has more than two units, so all that is kept is in here
  const points = Array.from(text.slice(0, 2 * longest + 2));
  return points.length <= longest ? text : `${points.slice(0, longest - 1).join("")}…`;
}
