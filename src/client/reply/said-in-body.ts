import { isJsonObject } from "../../generation/json-object.ts";
import { errorInBody } from "./json-rpc-error.ts";

/** A page, even a short one, is not for people who read an error. */
const longest = 500;

/** What the body of an HTTP error says in words: a JSON-RPC error's message, an OAuth description, or a plain text. */
export function saidInBody(body: unknown): string | undefined {
  if (typeof body !== "string") return undefined;
  const rpc = errorInBody(body);
  if (rpc !== undefined) return rpc.message;
  const text = body.trim();
  if (text === "" || text.length > longest || isHtml(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return text;
    const { error_description: description, message, error } = value;
    return [description, message, error].find((said) => typeof said === "string");
  } catch {
    return text;
  }
}

export function isHtml(body: unknown): boolean {
  return typeof body === "string" && /^\s*<(?:!doctype|html|head|body|p|h1)\b/i.test(body);
}
