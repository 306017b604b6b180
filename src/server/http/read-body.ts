import { isJsonContentType } from "@modelcontextprotocol/server";
import { messageFault, nodeFault } from "../message-limits.ts";
import type { BodyReads } from "./body-reads.ts";
import { refuse } from "./refuse.ts";

export interface BodyForm {
  readonly maxNesting: number;
  readonly maxNodes: number;
  /** Messages in one body; only revision 2025-03-26 and before have several. */
  readonly maxBatch: number;
}

/** The JSON of a POST, read once for all who look at it, or the refusal of what is none; other methods have none. */
export async function readBody(
  request: Request,
  bodies: BodyReads,
  { maxNesting, maxNodes, maxBatch }: BodyForm,
): Promise<{ body: unknown } | Response> {
  if (request.method !== "POST") return { body: undefined };
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refuse(415, "Unsupported Media Type: Content-Type must be application/json", {}, -32000);
  }
  const text = await bodies.text(request);
  if (text instanceof Response) return text;
  // To parse millions of values, and to look at each, would keep everybody waiting.
  const tooMany = nodeFault(text, maxNodes);
  if (tooMany !== undefined) return refuse(400, tooMany);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return refuse(400, "Parse error: the request body is not valid JSON", {}, -32700);
  }
  if (Array.isArray(body) && body.length > maxBatch) {
    return refuse(400, `The batch has more than ${maxBatch} messages.`);
  }
  const fault = messageFault(body, maxNesting);
  return fault === undefined ? { body } : refuse(400, fault.message);
}
