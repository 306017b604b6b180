import type { JsonRpcError } from "../../task/outcome.ts";
import { cutText } from "../../task/cut-text.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { errorText } from "../error-text.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { wireStatus } from "./wire-task.ts";

/**
 * Why a task failed, if its handler set no text (C-117); undefined for every other task. The status text is one line; `tasks/result` has
 * the whole text.
 */
export function diagnose({ task, outcome }: TaskSnapshot): string | undefined {
  if (task.statusMessage || outcome === null || wireStatus(task) !== "failed") return undefined;
  const body: unknown = JSON.parse(outcome.body);
  return cutText(outcome.kind === "error" ? errorText(body as JsonRpcError) : resultText(body));
}

/** Tools report the reason in the first text of their result. */
function resultText(result: unknown): string {
  const content = isJsonObject(result) ? result["content"] : undefined;
  const texts = (Array.isArray(content) ? content : []).filter(isText);
  return texts[0]?.text ?? "The tool answered with an error.";
}

function isText(block: unknown): block is JsonObject & { readonly text: string } {
  return isJsonObject(block) && typeof block["text"] === "string" && block["text"] !== "";
}
