import { adminStatusOf, isAdminFault } from "../../../admin/admin-faults.ts";
import { isJsonObject } from "../../../generation/message.ts";
import { HoldfastError } from "../../../task/fault.ts";
import type { OnError } from "../../faults.ts";

/** The format of all refusals of an admin endpoint. */
export function refusal(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ error: { code, message } }, { status, headers });
}

/** The answer to a thrown error. Faults of the server itself also go to `onError`. */
export function refusalOf(error: unknown, onError: OnError): Response {
  if (error instanceof HoldfastError && isAdminFault(error.code)) {
    const { code, message } = error;
    const status = adminStatusOf(code);
    if (status >= 500 && status !== 503) onError(error);
    return refusal(status, code, message, status === 503 ? { "Retry-After": "1" } : {});
  }
  onError(error);
  return refusal(500, "internal", "Internal error. The server's log has the details.");
}

const codes: Readonly<Record<number, string>> = { 413: "too_large", 503: "stopping" };

/** Converts a refusal of the MCP endpoint to this endpoint's format. */
export async function adaptedRefusal(refused: Response): Promise<Response> {
  const body: unknown = await refused.json();
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};
  const retryAfter = refused.headers.get("retry-after");
  return refusal(
    refused.status,
    codes[refused.status] ?? "invalid_request",
    String(error["message"]),
    retryAfter === null ? {} : { "Retry-After": retryAfter },
  );
}
