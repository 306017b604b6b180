import type { JsonRpcError } from "../../task/outcome.ts";
import { isJsonObject } from "../../generation/message.ts";

export function isJsonRpcError(value: unknown): value is JsonRpcError {
  return isJsonObject(value) && Number.isInteger(value["code"]) && typeof value["message"] === "string";
}

/** The JSON-RPC error in the body of an HTTP error, if there is one. */
export function errorInBody(text: unknown): JsonRpcError | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const body: unknown = JSON.parse(text);
    if (isJsonObject(body) && isJsonRpcError(body["error"])) return body["error"];
  } catch {
    // Not JSON, such as a proxy's page.
  }
  return undefined;
}

/** Longer texts are left out of error messages. */
const longest = 500;

/** The message in the body of an HTTP error: of a JSON-RPC error, an OAuth error, or a plain text. */
export function messageInBody(body: unknown): string | undefined {
  if (typeof body !== "string") return undefined;
  const rpc = errorInBody(body);
  if (rpc !== undefined) return rpc.message;
  const text = body.trim();
  if (text === "" || text.length > longest || isHtml(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return text;
    const { error_description: description, message, error } = value;
    return [description, message, error].find((candidate) => typeof candidate === "string");
  } catch {
    return text;
  }
}

export function isHtml(body: unknown): boolean {
  return typeof body === "string" && /^\s*<(?:!doctype|html|head|body|p|h1)\b/i.test(body);
}
