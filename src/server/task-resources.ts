import { isJsonObject, type JsonObject } from "../generation/json-object.ts";
import { generation as sep } from "../generation/sep-1686/name.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { HoldfastError, isUnknownTask } from "../task/fault.ts";
import type { GenerationName } from "../task/record.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";
import { generation as plain, scopeOf, type PlainOwner } from "./plain/plain-call.ts";

/** The method that reads a resource. */
export const readMethod = "resources/read";

/** A log or an output, as the URI of a resource names it: `task://ID/log`, `task://ID/output?after=7`. */
export interface TaskResource {
  readonly uri: string;
  /** The id of the task, or the name that its requestor knows it by. */
  readonly task: string;
  readonly list: LineList;
  /** Only lines with larger numbers are wanted. */
  readonly after: number;
}

/** Who reads, and tasks of which generations can be its own. */
interface Reader extends PlainOwner {
  readonly generations: readonly GenerationName[];
}

const form = /^task:\/\/([^/?#]+)\/(log|output)(?:\?after=(\d{1,15}))?$/;

/** How many lines one read gives: the next one goes on after the last of them. */
const mostLines = 1_000;

/** Line by line, so that a reader can append one read to the other. */
const mimeType = "application/x-ndjson";

/** The log or output that a request reads; undefined for every other one, also where it reads another resource. */
export function taskResourceOf(method: unknown, params: unknown): TaskResource | undefined {
  if (method !== readMethod || !isJsonObject(params)) return undefined;
  const { uri } = params;
  if (typeof uri !== "string") return undefined;
  const [, name = "", list, after = "0"] = form.exec(uri) ?? [];
  const task = decoded(name);
  if (task === undefined || (list !== "log" && list !== "output")) return undefined;
  return { uri, task, list, after: Number(after) };
}

/**
 * What a `resources/read` is answered with. For a task that does not exist, or is another's, it is refused as the SDK refuses
 * an unknown resource.
 */
export async function readTaskResource(
  runtime: Runtime,
  resource: TaskResource,
  reader: Reader,
): Promise<JsonObject> {
  const lines = await linesOf(runtime, resource, reader);
  if (lines === undefined) throw resourceNotFound(resource.uri);
  const text = lines.map((line) => `${JSON.stringify(shown(line))}\n`).join("");
  return { contents: [{ uri: resource.uri, mimeType, text }] };
}

async function linesOf(
  runtime: Runtime,
  { task, list, after }: TaskResource,
  reader: Reader,
): Promise<readonly TaskLine[] | undefined> {
  const { principal, scopes, generations } = reader;
  const scope = scopeOf(reader);
  for (const generation of generations) {
    // Requestors know tasks of these two by names that are unique only among their own.
    const hasNames = scope !== undefined && (generation === sep || generation === plain);
    const found = hasNames ? await runtime.find({ generation, scope, wireId: task }) : undefined;
    try {
      const page = { list, after, limit: mostLines };
      return await runtime.lines(found ?? task, { generation, principal, scopes }, page);
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
    }
  }
  return undefined;
}

function shown({ list, seq, at, step, body }: TaskLine): JsonObject {
  const content: unknown = JSON.parse(body);
  const said = list === "output" ? { content } : isJsonObject(content) ? content : {};
  return { seq, at: new Date(at).toISOString(), ...said, ...(list === "log" && step !== "" && { step }) };
}

/** In the SDK's words, and with its code, for a resource that does not exist. */
function resourceNotFound(uri: string): HoldfastError {
  return new HoldfastError("unknown_task", `Resource not found: ${uri}`, { data: { uri } });
}

function decoded(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
