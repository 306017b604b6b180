import type { LineList } from "../task/task-line.ts";
import { isJsonObject, type JsonObject } from "./json-object.ts";

/**
 * With this capability, a client asks for logs and outputs of tasks as resources, and a server confirms it: under `extensions` in
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

/** The URI templates for `resources/templates/list`. */
export const taskResourceTemplates: readonly JsonObject[] = [
  {
    uriTemplate: "task://{id}/log{?after}",
    name: "task-log",
    description:
      "The log of a task, one JSON object on each line; after: the number of the last line that is known.",
    mimeType: linesMimeType,
  },
  {
    uriTemplate: "task://{id}/output{?after}",
    name: "task-output",
    description:
      "What a task has put out so far, one JSON object on each line; after: the number of the last line that is known.",
    mimeType: linesMimeType,
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
