import { HoldfastError } from "../task/fault.ts";
import { isJsonObject } from "./json-object.ts";

/** The format version, so that later forms of cursors can be told apart. */
const version = "1:";

/** The cursor of the page after the task with this id. Requestors cannot read it or make one up (C-074, S-048). */
export function encodeCursor(id: string): string {
  return Buffer.from(version + id).toString("base64url");
}

/** The id after which a page starts, or undefined for the first page; throws `invalid_params` (C-110, S-076). */
export function readCursor(params: unknown): string | undefined {
  const cursor = isJsonObject(params) ? params["cursor"] : undefined;
  if (cursor === undefined) return undefined;
  const id = typeof cursor === "string" ? decode(cursor) : undefined;
  if (id !== undefined) return id;
  throw new HoldfastError("invalid_params", "params.cursor has to be the nextCursor of an earlier page.");
}

/** Decoding skips characters that are not base64url, so a cursor is valid only if it encodes back to the same text. */
function decode(cursor: string): string | undefined {
  const text = Buffer.from(cursor, "base64url").toString();
  const id = text.slice(version.length);
  return text.startsWith(version) && id !== "" && encodeCursor(id) === cursor ? id : undefined;
}
