import { HoldfastError } from "../task/fault.ts";
import { isJsonObject } from "./json-object.ts";

/** Says what the rest is, so that a later form of cursor is told apart from this one. */
const version = "1:";

/** The cursor of the page after the task with this id: nothing that a requestor could read or make up (C-074, S-048). */
export function encodeCursor(id: string): string {
  return Buffer.from(version + id).toString("base64url");
}

/** The id that a page starts after, or undefined for the first page; throws `invalid_params` (C-110, S-076). */
export function readCursor(params: unknown): string | undefined {
  const cursor = isJsonObject(params) ? params["cursor"] : undefined;
  if (cursor === undefined) return undefined;
  const id = typeof cursor === "string" ? decode(cursor) : undefined;
  if (id !== undefined) return id;
  throw new HoldfastError("invalid_params", "params.cursor has to be the nextCursor of an earlier page.");
}

/** Decoding passes over what is no base64url, so only what comes out the same again was handed out. */
function decode(cursor: string): string | undefined {
  const text = Buffer.from(cursor, "base64url").toString();
  const id = text.slice(version.length);
  return text.startsWith(version) && id !== "" && encodeCursor(id) === cursor ? id : undefined;
}
