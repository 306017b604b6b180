/**
 * What all generations share when they read and write messages: JSON objects, `_meta`, durations, cursors, log lines.
 * Everything from the other side is `unknown` until it was checked; a wrong value throws `invalid_params`.
 */

import { HoldfastError } from "../task/fault.ts";
import type { Progress, TaskRecord } from "../task/record.ts";
import { logLevels, type LogLevel, type LogText } from "../task/task-line.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The `_meta` of params or a result; empty if there is none. */
export function metaOf(object: unknown): JsonObject {
  const meta = isJsonObject(object) ? object["_meta"] : undefined;
  return isJsonObject(meta) ? meta : {};
}

/** Params or a result with more in `_meta`. All members stay unchanged; added ones replace existing ones. */
export function withMeta(object: JsonObject, added: JsonObject): JsonObject {
  return { ...object, _meta: { ...metaOf(object), ...added } };
}

/** The task that a message names in `_meta`, under its generation's key. */
export interface RelatedTask {
  readonly taskId: string;
}

/** A message without a response. */
export interface WireNotification {
  readonly method: string;
  readonly params: JsonObject;
}

/** How messages of one generation name the task that they belong to: under its own key in `_meta`. */
export function relationUnder<Key extends string>(key: Key) {
  type Related = { readonly [_ in Key]: RelatedTask };
  const entryOf = (taskId: string): Related => ({ [key]: { taskId } }) as Related;
  const added = (object: JsonObject, taskId: string): JsonObject => withMeta(object, entryOf(taskId));
  return {
    /** The entry of `_meta`. */
    entryOf,
    /** A result or params that belong to a task. All members stay unchanged; this task replaces any other. */
    added,
    /** Progress of a running task, under the progress token of the request that it is of (C-098, C-106, S-061, S-099). */
    progress: (
      progressToken: string | number,
      progress: Progress,
      { wireId }: Pick<TaskRecord, "wireId">,
    ): WireNotification => ({
      method: "notifications/progress",
      params: added({ progressToken, ...progress }, wireId),
    }),
    /** A line of a task's log (C-097, S-060). */
    log: (line: LogText, { tool, wireId }: Pick<TaskRecord, "tool" | "wireId">): WireNotification => {
      const { method, params } = logMessage(tool, line);
      return { method, params: added(params, wireId) };
    },
    /** The id of the task that params or a result belong to, if they name one. */
    read: (object: unknown): string | undefined => {
      const related = metaOf(object)[key];
      const taskId = isJsonObject(related) ? related["taskId"] : undefined;
      return typeof taskId === "string" ? taskId : undefined;
    },
  };
}

/**
 * The id in the params of a message; throws `invalid_params` with the reason (X-096, C-109, C-114, S-075, S-080). Only this id selects the
 * task: the related task in `_meta` is ignored (C-100).
 */
export function readTaskId(method: string, params: unknown): string {
  const taskId = isJsonObject(params) ? params["taskId"] : undefined;
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw new HoldfastError("invalid_params", `${method} needs params.taskId: a non-empty string.`);
}

/** ISO 8601 */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** A page of tasks (C-071). It belongs to no task, so it names none (S-045, A-20). */
export interface ListTasksResult<Task> {
  readonly tasks: readonly Task[];
  readonly nextCursor?: string;
}

export function listResult<Task>(tasks: readonly Task[], nextCursor?: string): ListTasksResult<Task> {
  return { tasks, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/** A hundred years: with a longer life, a store could not hold the end of the task exactly. */
const longestMs = 100 * 365 * 24 * 60 * 60 * 1000;

/**
 * How long a requestor wants its task kept, in whole milliseconds; receivers may override it (C-103, S-073). `name` is the member's name in
 * the request. Throws `invalid_params` unless it is a number from 0 up.
 */
export function readMilliseconds(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new HoldfastError("invalid_params", `${name} must be a number of milliseconds, 0 or more.`);
  }
  return Math.min(Math.ceil(value), longestMs);
}

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
  throw new HoldfastError("invalid_params", "params.cursor must be the nextCursor of an earlier page.");
}

/** Decoding skips characters that are not base64url, so a cursor is valid only if it encodes back to the same text. */
function decode(cursor: string): string | undefined {
  const text = Buffer.from(cursor, "base64url").toString();
  const id = text.slice(version.length);
  return text.startsWith(version) && id !== "" && encodeCursor(id) === cursor ? id : undefined;
}

/** Sets the lowest level of log messages that the client of a session wants. */
export const setLevelMethod = "logging/setLevel";

export const logMethod = "notifications/message";

/** The level that a client names; undefined if it names none. */
export function logLevelOf(value: unknown): LogLevel | undefined {
  return logLevels.find((level) => level === value);
}

/** Whether a line is at least as severe as `least`. */
export function isAtLeast(least: LogLevel, { level }: Pick<LogText, "level">): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/**
 * A log line of a tool call as an MCP log message. Clients show string data as it is, and other data as JSON, so a line is sent as its
 * text, together with its data if it has any. A text that only repeats its data, as from a handler written for the SDK, is left out.
 */
export function logMessage(tool: string, { level, text, data }: LogText): WireNotification {
  const said = data === undefined ? text : text === JSON.stringify(data) ? data : { text, data };
  return { method: logMethod, params: { level, logger: tool, data: said } };
}

/** Whether two values say the same as JSON, whatever the order of members. Members that are undefined are none. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((value, index) => sameJson(value, other[index]));
  }
  const [members, others] = [membersOf(one), membersOf(other)];
  if (members.size !== others.size) return false;
  return [...members].every(([key, value]) => others.has(key) && sameJson(value, others.get(key)));
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined));
}
