import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { KeptCall } from "./handle-store.ts";

/** Incremented by changes that an earlier version could not read. */
const format = 1;

/** The text of one file: a call, or an answer. */
export function encodeEntry(content: object): string {
  return `${JSON.stringify({ format, ...content })}\n`;
}

/** The content of such a text; throws for any other. */
export function decodeEntry(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new TypeError("It holds no object");
  if (value["format"] !== format) throw new TypeError(`It has format ${JSON.stringify(value["format"])}`);
  return value;
}

export function decodeCall(text: string): KeptCall {
  const { format: _format, ...call } = decodeEntry(text);
  if (!isKeptCall(call)) throw new TypeError("It is no kept call");
  return call;
}

function isKeptCall(value: JsonObject): value is JsonObject & KeptCall {
  const { key, server, generation, tool, args, ttlMs, startedAt, round, taskId, expiresAt, sessionId } =
    value;
  return (
    [key, server, generation, tool].every((name) => typeof name === "string") &&
    isJsonObject(args) &&
    typeof startedAt === "number" &&
    (ttlMs === undefined || typeof ttlMs === "number") &&
    (expiresAt === undefined || typeof expiresAt === "number") &&
    (sessionId === undefined || typeof sessionId === "string") &&
    (round === undefined || isRound(round)) &&
    (taskId === null || (typeof taskId === "string" && taskId !== ""))
  );
}

function isRound(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { inputResponses, requestState } = value;
  const hasAnswers = inputResponses === undefined || isJsonObject(inputResponses);
  return hasAnswers && (requestState === undefined || typeof requestState === "string");
}
