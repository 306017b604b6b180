import { isJsonContentType, readRequestBody } from "@modelcontextprotocol/server";
import { nestingFault } from "../nesting.ts";
import { refuse } from "./refuse.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxNesting: number;
}

/** The JSON of a POST, read once for all who look at it, or the refusal of what is none; other methods have none. */
export async function readBody(
  request: Request,
  { maxBytes, maxNesting }: BodyLimits,
): Promise<{ body: unknown } | Response> {
  if (request.method !== "POST") return { body: undefined };
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refuse(415, "Unsupported Media Type: Content-Type must be application/json", {}, -32000);
  }
  const read = await readRequestBody(request, maxBytes).catch(() => undefined);
  if (read === undefined) return refuse(400, "The request could not be read to its end.", {}, -32700);
  if (read.tooLarge) return refuse(413, `The request is larger than ${maxBytes} bytes.`);
  let body: unknown;
  try {
    body = JSON.parse(read.text);
  } catch {
    return refuse(400, "Parse error: the request body is not valid JSON", {}, -32700);
  }
  const tooDeep = nestingFault(body, maxNesting);
  return tooDeep === undefined ? { body } : refuse(400, tooDeep.message);
}
