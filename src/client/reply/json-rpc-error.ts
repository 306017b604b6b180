import type { JsonRpcError } from "../../task/outcome.ts";
import { isJsonObject } from "../../generation/json-object.ts";

export function isJsonRpcError(value: unknown): value is JsonRpcError {
  return isJsonObject(value) && Number.isInteger(value["code"]) && typeof value["message"] === "string";
}

/** The JSON-RPC error in the body of an HTTP error, if that is what the body holds. */
export function errorInBody(text: unknown): JsonRpcError | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const body: unknown = JSON.parse(text);
    if (isJsonObject(body) && isJsonRpcError(body["error"])) return body["error"];
  } catch {
    // A proxy's page, or none: the status alone says what happened.
  }
  return undefined;
}
