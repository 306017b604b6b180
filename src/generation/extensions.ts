/**
 * What Holdfast adds to the protocol, under keys of its own: tool names, question keys, idempotency keys, logs, outputs and
 * artifacts as resources. Each side works without the other's support for it.
 */

import { inputMethods, encodeJournalKey } from "../task/journal.ts";
import type { TaskRecord } from "../task/record.ts";
import { metaOf, type JsonObject, withMeta, isJsonObject } from "./message.ts";
import { HoldfastError } from "../task/fault.ts";
import type { LineList } from "../task/task-line.ts";

/**
 * The key in `_meta` of a task that names the called tool, so that readers of a list know what each task does. Left out for other requests.
 */
export const toolMeta = "holdfast/tool";

export interface ToolMeta {
  readonly [toolMeta]: string;
}

/** The `_meta` of a task on the wire; left out if the task is not a tool call. */
export function toolMetaOf(task: TaskRecord): { readonly _meta?: ToolMeta } {
  const tool = calledTool(task);
  return tool === undefined ? {} : { _meta: { [toolMeta]: tool } };
}

/** The tool that the task calls. For a question that runs as a task on the client, the record holds the question's method there. */
export function calledTool({ method, tool }: TaskRecord): string | undefined {
  const isQuestion = inputMethods.some((each) => each === tool);
  return method === "tools/call" && !isQuestion ? tool : undefined;
}

/** The tool that a task on the wire names, if its server names one. */
export function toolOf(task: unknown): string | undefined {
  const tool = metaOf(task)[toolMeta];
  return typeof tool === "string" && tool !== "" ? tool : undefined;
}

/**
 * The key in `_meta` of a task that another task made its receiver make, with that task's id: the task that a client makes of a question
 * names the server's task that asks. What a handler calls on its own server is no task to clients.
 */
const parentMeta = "holdfast/parent";

/** The task on the wire, with the one above it, if there is one. */
export function withParent<T extends object>(task: T, parent: string | undefined): T {
  return parent === undefined
    ? task
    : { ...task, _meta: { ...metaOf(task), [parentMeta]: { taskId: parent } } };
}

/**
 * The key in `_meta` of a question sent as its own request. It holds the question's key in its task, which stays the same however often,
 * and by whichever process, the question is asked again. The task is the request's related task. It does not say who may answer.
 */
export const questionKeyMeta = "holdfast/questionKey";

/** The key in `_meta` with which a question says why the last answer was refused. */
export const refusedMeta = "holdfast/refused";

/**
 * The name of a question that is asked again after this many refused answers. It differs each time: a client that stores answers by name
 * would send the refused one again.
 */
export function questionName(key: string, refusals: number): string {
  return refusals === 0 ? key : encodeJournalKey([refusedMeta, key, refusals]);
}

/** The params of a question, with its name. */
export function withQuestionKey(params: JsonObject, key: string): JsonObject {
  return withMeta(params, { [questionKeyMeta]: key });
}

/** The name of a question, if its server sets names. */
export function questionKeyOf(params: unknown): string | undefined {
  const key = metaOf(params)[questionKeyMeta];
  return typeof key === "string" && key !== "" ? key : undefined;
}

/** The key in `_meta` of a call that holds the requestor's idempotency key. */
export const idempotencyKeyMeta = "holdfast/idempotencyKey";

/** For servers that do not say how long they recognise a call: the default of a Holdfast server. */
const usualKeptMs = 24 * 3_600_000;

/**
 * What a server declares under the name of the key: it recognises a repeated call for at least this many ms after its first arrival. Left
 * out if there is no limit.
 */
export function recognition(keptMs: number): { readonly keptMs?: number } {
  return Number.isFinite(keptMs) ? { keptMs } : {};
}

/**
 * How long a server with these capabilities recognises a call (ms after its first arrival), as declared under `place`. Undefined if it
 * recognises none.
 */
export function readKeptMs(server: unknown, place: CapabilityPlace): number | undefined {
  const declared = isJsonObject(server) ? server[place] : undefined;
  const recognised = isJsonObject(declared) ? declared[idempotencyKeyMeta] : undefined;
  if (!isJsonObject(recognised)) return undefined;
  const { keptMs } = recognised;
  return typeof keptMs === "number" && keptMs >= 0 ? keptMs : usualKeptMs;
}

/**
 * `true` in `_meta` of a call that was sent before under the same key, and whose answer was lost: a server that would run it again must
 * refuse it.
 */
const repeatMeta = "holdfast/repeat";

/** The members of `_meta` for a call with this key. */
export function idempotencyMeta(key: string, repeat: boolean): JsonObject {
  return { [idempotencyKeyMeta]: key, ...(repeat && { [repeatMeta]: true }) };
}

/** In `data` of the error with which such a call is refused. */
export const notRepeatableData = { "holdfast/notRepeatable": true } as const;

export function isRepeat(params: unknown): boolean {
  return metaOf(params)[repeatMeta] === true;
}

/** Whether a call has a key at all; `readIdempotencyKey` checks whether it is valid. */
export function hasIdempotencyKey(params: unknown): boolean {
  return metaOf(params)[idempotencyKeyMeta] !== undefined;
}

/** 22 characters of base64url hold 132 bits, 22 letters and digits 130: too many to guess the key. */
const anonymousMinimum = 22;

const maximum = 255;

/**
 * The idempotency key of a call, if it has one. Without a principal, only the key separates one requestor's calls from another's, so it
 * must be too long to guess; throws `invalid_params` for any other.
 */
export function readIdempotencyKey(
  meta: Readonly<Record<string, unknown>>,
  principal: string | null,
): string | undefined {
  const key = meta[idempotencyKeyMeta];
  if (key === undefined) return undefined;
  const minimum = principal === null ? anonymousMinimum : 1;
  if (typeof key === "string" && key.length >= minimum && key.length <= maximum && isVisibleAscii(key))
    return key;
  throw new HoldfastError(
    "invalid_params",
    `_meta["${idempotencyKeyMeta}"] must be a string of ${minimum} to ${maximum} visible ASCII characters.`,
  );
}

function isVisibleAscii(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/**
 * With this capability, a client asks for logs, outputs and artifacts of tasks as resources, and a server confirms it: under `extensions` in
 * 2026-07-28, under `experimental` before. It has no settings.
 */
export const taskLinesCapability = "holdfast/taskLines";

/** Where each generation declares extensions to its protocol. */
export type CapabilityPlace = "extensions" | "experimental";

export function declaresTaskLines(capabilities: unknown, place: CapabilityPlace): boolean {
  const declared = isJsonObject(capabilities) ? capabilities[place] : undefined;
  return isJsonObject(declared) && isJsonObject(declared[taskLinesCapability]);
}

/** The capabilities with this one added. */
export function withTaskLines(capabilities: unknown, place: CapabilityPlace): JsonObject {
  const own = isJsonObject(capabilities) ? capabilities : {};
  const others = isJsonObject(own[place]) ? own[place] : {};
  return { ...own, [place]: { ...others, [taskLinesCapability]: {} } };
}

/** A log or an output, as in the URI of a resource: `task://ID/log`, `task://ID/output?after=7`. */
export interface TaskResource {
  readonly uri: string;
  /** The task's id, or the name that its requestor uses. */
  readonly task: string;
  readonly list: LineList;
  /** Only lines with larger numbers are wanted. */
  readonly after: number;
}

const form = /^task:\/\/([^/?#]+)\/(log|output)(?:\?after=(\d{1,15}))?$/;

/** One JSON value per line, so that readers can append one read to the next. */
export const linesMimeType = "application/x-ndjson";

/** The log or output at a URI; undefined for any other URI. */
export function taskResourceAt(uri: unknown): TaskResource | undefined {
  if (typeof uri !== "string") return undefined;
  const [, name = "", list, after = "0"] = form.exec(uri) ?? [];
  const task = decoded(name);
  if (task === undefined || (list !== "log" && list !== "output")) return undefined;
  return { uri, task, list, after: Number(after) };
}

/** The URI of a log or an output. In SEP-1686, requestors choose task ids, which can be any text. */
export function taskResourceUri(task: string, list: LineList): string {
  return `task://${encodeURIComponent(task)}/${list}`;
}

/** An artifact, or a part of it, as in the URI of a resource: `task://ID/artifact/report.csv?from=0&bytes=1000`; or the list of all. */
export interface ArtifactResource {
  readonly uri: string;
  /** The task's id, or the name that its requestor uses. */
  readonly task: string;
  /** Null for the list. */
  readonly name: string | null;
  readonly from: number;
  /** At most so many bytes; null: all of them. */
  readonly bytes: number | null;
}

const artifactForm = /^task:\/\/([^/?#]+)\/artifact(?:\/([^/?#]+)(?:\?([a-z0-9=&]*))?)?$/;

/** The artifact at a URI; undefined for any other URI. */
export function artifactResourceAt(uri: unknown): ArtifactResource | undefined {
  if (typeof uri !== "string") return undefined;
  const [, of = "", file, query = ""] = artifactForm.exec(uri) ?? [];
  const task = decoded(of);
  const name = file === undefined ? null : decoded(file);
  const { from = "0", bytes, ...others } = Object.fromEntries(new URLSearchParams(query));
  const isRange = [from, bytes ?? "0"].every((number) => /^\d{1,15}$/.test(number));
  if (task === undefined || name === undefined || !isRange || Object.keys(others).length > 0)
    return undefined;
  return { uri, task, name, from: Number(from), bytes: bytes === undefined ? null : Number(bytes) };
}

/** The URI of a part of an artifact. */
export function artifactPartUri(uri: string, from: number, bytes: number): string {
  return `${uri}?from=${from}&bytes=${bytes}`;
}

/** The key in `_meta` of the contents of an artifact: which part it is, and of what. */
export const artifactMeta = "holdfast/artifact";

/** What it has. */
export interface ArtifactMeta {
  readonly from: number;
  /** Of the whole artifact. */
  readonly size: number;
  readonly sha256: string;
}

/** The URI templates for `resources/templates/list`. */
export const taskResourceTemplates: readonly JsonObject[] = [
  {
    uriTemplate: "task://{id}/log{?after}",
    name: "task-log",
    description:
      "The log of a task, one JSON object per line. To continue, set after to the number of the last line that you have.",
    mimeType: linesMimeType,
  },
  {
    uriTemplate: "task://{id}/output{?after}",
    name: "task-output",
    description:
      "The output of a task so far, one JSON object per line. To continue, set after to the number of the last line that you have.",
    mimeType: linesMimeType,
  },
  {
    uriTemplate: "task://{id}/artifact",
    name: "task-artifacts",
    description:
      "The files that a task has made, one JSON object per line, with the URI and the size of each.",
    mimeType: linesMimeType,
  },
  {
    uriTemplate: "task://{id}/artifact/{name}{?from,bytes}",
    name: "task-artifact",
    description:
      "A file that a task has made. To read a large one in parts, set from to the first byte that you want and bytes to how many.",
  },
];

/** The notification that there is more to read. */
export const resourceUpdated = "notifications/resources/updated";

function decoded(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
