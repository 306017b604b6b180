import { isJsonObject } from "../../generation/message.ts";
import { legacyMissingCapability } from "../faults.ts";

/** The SDK knows the missing-capability error under its new number only; under the old one it is a 400 too. */
export async function withStatusOfLegacyCode(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (status !== 200 || !headers.get("content-type")?.startsWith("application/json")) return response;
  const text = await response.text();
  return new Response(text, { status: hasLegacyCode(text) ? 400 : status, headers });
}

function hasLegacyCode(text: string): boolean {
  // Most answers are told apart without parsing them.
  if (!text.includes(String(legacyMissingCapability))) return false;
  const message: unknown = JSON.parse(text);
  const error = isJsonObject(message) ? message["error"] : undefined;
  return isJsonObject(error) && error["code"] === legacyMissingCapability;
}
