import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import type { KeptCall, KeptSession } from "./handle-store.ts";

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

export function decodeSession(text: string): KeptSession {
  const { format: _format, ...session } = decodeEntry(text);
  if (!isKeptSession(session)) throw new TypeError("It is no kept session");
  return session;
}

/** Whether the task of the call was made in this session. */
export function isMadeIn(call: KeptCall, { server, origin, id }: KeptSession): boolean {
  const isOfSession = call.sessionId === id && call.sessionOrigin === origin;
  return isOfSession && call.server === server && call.taskId !== null;
}

function isKeptSession(value: JsonObject): value is JsonObject & KeptSession {
  const { server, generation, origin, id, capabilities, result } = value;
  const hasNames = [server, generation, origin, id].every((name) => typeof name === "string");
  return hasNames && isJsonObject(capabilities) && isJsonObject(result);
}

function isKeptCall(value: JsonObject): value is JsonObject & KeptCall {
  const { key, server, generation, tool, args, ttlMs, startedAt, round, taskId, expiresAt } = value;
  const { sessionId, sessionOrigin } = value;
  return (
    [key, server, generation, tool].every((name) => typeof name === "string") &&
    isJsonObject(args) &&
    typeof startedAt === "number" &&
    (ttlMs === undefined || typeof ttlMs === "number") &&
    (expiresAt === undefined || typeof expiresAt === "number") &&
    (sessionId === undefined || typeof sessionId === "string") &&
    (sessionOrigin === undefined || typeof sessionOrigin === "string") &&
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
