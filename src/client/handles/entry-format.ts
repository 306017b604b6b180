import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { StoredCall, ResumableSession } from "./handle-store.ts";

/** Incremented by changes that an earlier version could not read. */
const format = 1;

/** How long a task that the server does not know is kept after its expiry: another token may still find it. */
export const keepAfterExpiryMs = 86_400_000;

/** The text of one entry: a call, an answer or a session. */
export function encodeEntry(content: object): string {
  return `${JSON.stringify({ format, ...content })}\n`;
}

/** The content of such a text; throws for any other. */
export function decodeEntry(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new TypeError("It does not contain a JSON object");
  if (value["format"] !== format)
    throw new TypeError(`Its format is unknown: ${JSON.stringify(value["format"])}`);
  return value;
}

export function decodeCall(text: string): StoredCall {
  const { format: _format, ...call } = decodeEntry(text);
  if (!isStoredCall(call)) throw new TypeError("It is not a stored call");
  return call;
}

export function decodeSession(text: string): ResumableSession {
  const { format: _format, ...session } = decodeEntry(text);
  if (!isResumableSession(session)) throw new TypeError("It is not a stored session");
  return session;
}

/** Whether the task of the call was made in this session. */
export function isMadeIn(call: StoredCall, { server, origin, id }: ResumableSession): boolean {
  const isOfSession = call.sessionId === id && call.sessionOrigin === origin;
  return isOfSession && call.server === server && call.taskId !== null;
}

function isResumableSession(value: JsonObject): value is JsonObject & ResumableSession {
  const { server, generation, origin, id, capabilities, result } = value;
  const hasNames = [server, generation, origin, id].every((name) => typeof name === "string");
  return hasNames && isJsonObject(capabilities) && isJsonObject(result);
}

/** Whether it is a call as it is stored, without its format. */
export function isStoredCall(value: JsonObject): value is JsonObject & StoredCall {
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
