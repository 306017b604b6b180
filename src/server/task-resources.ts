import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import {
  artifactMeta,
  artifactResourceAt,
  linesMimeType,
  taskResourceAt,
  type ArtifactMeta,
  type ArtifactResource,
  type TaskResource,
} from "../generation/extensions.ts";
import type { ArtifactPart } from "../runtime/artifacts.ts";
import type { ReserveMemory } from "../store/store.ts";
import type { Requestor, Runtime } from "../runtime/runtime.ts";
import { HoldfastError, isUnknownTask } from "../task/fault.ts";
import { generations as known, type GenerationName, type TaskRecord } from "../task/record.ts";
import { listedArtifact } from "../task/artifact.ts";
import { shownLine } from "../task/task-line.ts";
import { scopeOf, type PlainOwner } from "./plain/plain-policies.ts";

/** The method that reads a resource. */
export const readMethod = "resources/read";
/** The methods that begin and end a subscription to one, before 2026-07-28. */
export const subscribeMethod = "resources/subscribe";
export const unsubscribeMethod = "resources/unsubscribe";

/** The reader, and the generations of tasks that can be its own. */
export interface LineReader extends PlainOwner {
  readonly generations: readonly GenerationName[];
}

/** The task of a log or an output, as its reader may see it. */
export interface ReadTask {
  readonly requestor: Requestor;
  readonly task: TaskRecord;
}

/** Maximum number of lines per read; the next read continues after the last of them. */
const mostLines = 1_000;

/** What a request reads of a task; undefined for every other request, including reads of other resources. */
export function taskResourceOf(
  method: unknown,
  params: unknown,
): TaskResource | ArtifactResource | undefined {
  if (method !== readMethod || !isJsonObject(params)) return undefined;
  return taskResourceAt(params["uri"]) ?? artifactResourceAt(params["uri"]);
}

/** The log or output to which a request begins or ends a subscription: artifacts do not change. */
export function followedResourceOf(method: unknown, params: unknown): TaskResource | undefined {
  const follows = method === subscribeMethod || method === unsubscribeMethod;
  return follows && isJsonObject(params) ? taskResourceAt(params["uri"]) : undefined;
}

/** What a request of either kind names of a task. */
export function namedResourceOf(
  method: unknown,
  params: unknown,
): TaskResource | ArtifactResource | undefined {
  return followedResourceOf(method, params) ?? taskResourceOf(method, params);
}

/**
 * What a `resources/read` is answered with. For a task that does not exist, or is another's, it is refused as the SDK refuses
 * an unknown resource. Bytes of artifacts are read once there is memory for them. `toBlob` gives what stands for bytes that are no text.
 */
export async function readTaskResource(
  runtime: Runtime,
  resource: TaskResource | ArtifactResource,
  reader: LineReader,
  reserve: ReserveMemory | undefined,
  toBlob = (data: Buffer): string => data.toString("base64"),
): Promise<JsonObject> {
  if (!("list" in resource)) return readArtifactResource(runtime, resource, reader, reserve, toBlob);
  const { uri, list, after } = resource;
  const page = { list, after, limit: mostLines };
  const lines = await ofTask(runtime, resource, reader, (id, requestor) =>
    runtime.lines(id, requestor, page),
  );
  if (lines === undefined) throw resourceNotFound(uri);
  const text = lines.map((line) => `${JSON.stringify(shownLine(line))}\n`).join("");
  return { contents: [{ uri, mimeType: linesMimeType, text }] };
}

async function readArtifactResource(
  runtime: Runtime,
  resource: ArtifactResource,
  reader: LineReader,
  reserve: ReserveMemory | undefined,
  toBlob: (data: Buffer) => string,
): Promise<JsonObject> {
  const { uri, task, name, from, bytes } = resource;
  if (name === null) {
    const all = await ofTask(runtime, resource, reader, (id, requestor) => runtime.artifacts(id, requestor));
    if (all === undefined) throw resourceNotFound(uri);
    const text = all.map((artifact) => `${JSON.stringify(listedArtifact(task, artifact))}\n`).join("");
    return { contents: [{ uri, mimeType: linesMimeType, text }] };
  }
  const part = await ofTask(runtime, resource, reader, (id, requestor) =>
    runtime.artifact(id, requestor, { name, from, bytes, reserve }),
  );
  if (part === undefined) throw resourceNotFound(uri);
  return { contents: [contentsOf(uri, part, toBlob)] };
}

function contentsOf(
  uri: string,
  { artifact, from, data }: ArtifactPart,
  toBlob: (data: Buffer) => string,
): JsonObject {
  const { mimeType, bytes: size, sha256 } = artifact;
  const meta: ArtifactMeta = { from, size, sha256 };
  const isWhole = data.length === size;
  const content =
    isWhole && isText(mimeType) && isUtf8(data) ? { text: data.toString("utf8") } : { blob: toBlob(data) };
  return { uri, mimeType, ...content, _meta: { [artifactMeta]: meta } };
}

/** Its readers are models too. */
function isText(mimeType: string): boolean {
  return /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|x-ndjson)\b)/i.test(mimeType);
}

/** The task of a log or an output; undefined if it does not exist, or is another requestor's. */
export async function taskOfResource(
  runtime: Runtime,
  resource: TaskResource,
  reader: LineReader,
): Promise<ReadTask | undefined> {
  return ofTask(runtime, resource, reader, async (id, requestor) => {
    const { task } = await runtime.get(id, requestor);
    return { requestor, task };
  });
}

/** In the SDK's words, and with its code, for a resource that does not exist. */
export function resourceNotFound(uri: string): HoldfastError {
  return new HoldfastError("unknown_task", `Resource not found: ${uri}`, { data: { uri } });
}

/** What `read` finds of a task of the reader's own, which is named as the reader names it; undefined if there is none. */
export async function ofTask<T>(
  runtime: Runtime,
  { task }: Pick<TaskResource, "task">,
  reader: LineReader,
  read: (id: string, requestor: Requestor) => Promise<T>,
): Promise<T | undefined> {
  const { principal, scopes } = reader;
  const scope = scopeOf(reader);
  return firstKnown(reader.generations, async (generation) => {
    // The names that requestors choose are unique only among their own tasks.
    const hasNames = scope !== undefined && known[generation].requestorsNameTasks;
    const found = hasNames ? await runtime.find({ generation, scope, wireId: task }) : undefined;
    return read(found ?? task, { generation, principal, scopes });
  });
}

/** What `read` finds in the first of these places where the task is known; undefined if there is none. */
export async function firstKnown<Place, T>(
  places: readonly Place[],
  read: (place: Place) => Promise<T>,
): Promise<T | undefined> {
  for (const place of places) {
    try {
      return await read(place);
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
    }
  }
  return undefined;
}
