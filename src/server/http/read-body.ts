import { isUtf8 } from "node:buffer";
import { isJsonContentType } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../task/fault.ts";
import { messageFault, nodeFault } from "../limits.ts";
import { notUtf8, tooLarge, type BodyReads } from "./body-reads.ts";
import { refuse } from "./refusals.ts";

export interface BodyForm {
  readonly maxNesting: number;
  readonly maxNodes: number;
  /** Messages in one body; only revision 2025-03-26 and before have several. */
  readonly maxBatch: number;
}

/** A body that a framework has read: JSON, or its bytes. */
export interface ParsedBody {
  readonly value: unknown;
}

/** The JSON of a POST, read once for all users, or the refusal if it is invalid; other methods have none. */
export async function readBody(
  request: Request,
  bodies: BodyReads,
  form: BodyForm,
  parsed?: ParsedBody,
): Promise<{ body: unknown } | Response> {
  if (request.method !== "POST") return { body: undefined };
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refuse(415, "Unsupported Media Type: Content-Type must be application/json", {}, -32000);
  }
  if (parsed === undefined && !request.bodyUsed) {
    const text = await bodies.text(request);
    return text instanceof Response ? text : parse(text, form);
  }
  const { value } = parsed ?? {};
  if (value === undefined) throw lost();
  if (Number(request.headers.get("content-length")) > bodies.maxBytes) return tooLarge(bodies.maxBytes);
  return readParsed(value, bodies.maxBytes, form);
}

function parse(text: string, form: BodyForm): { body: unknown } | Response {
  // To parse millions of values, and to look at each, would keep everybody waiting.
  const tooMany = nodeFault(text, form.maxNodes);
  if (tooMany !== undefined) return refuse(400, tooMany);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return refuse(400, "Parse error: the request body is not valid JSON", {}, -32700);
  }
  return refusalOf(body, form) ?? { body };
}

/**
 * The same limits as for text: those of the framework may be wider, and its content coding hides the size. A string is not parsed
 * again: guards before us that look into the body have seen no message in it.
 */
function readParsed(value: unknown, maxBytes: number, form: BodyForm): { body: unknown } | Response {
  if (value instanceof Uint8Array) {
    if (value.byteLength > maxBytes) return tooLarge(maxBytes);
    return isUtf8(value) ? parse(new TextDecoder().decode(value), form) : notUtf8();
  }
  const refused = refusalOf(value, form); // how deep it is first: to write it as text recurses
  if (refused !== undefined) return refused;
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > maxBytes) return tooLarge(maxBytes);
  const tooMany = nodeFault(text, form.maxNodes);
  return tooMany === undefined ? { body: value } : refuse(400, tooMany);
}

function refusalOf(body: unknown, { maxNesting, maxBatch }: BodyForm): Response | undefined {
  if (Array.isArray(body) && body.length > maxBatch) {
    return refuse(400, `The batch has more than ${maxBatch} messages.`);
  }
  const fault = messageFault(body, maxNesting);
  return fault === undefined ? undefined : refuse(400, fault.message);
}

function lost(): HoldfastError {
  return new HoldfastError(
    "configuration",
    "Other code has already read the request body and did not keep it in req.body. Mount Holdfast before that code, or pass parsedBody.",
  );
}
