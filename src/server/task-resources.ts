import { isJsonObject, type JsonObject } from "../generation/message.ts";
import { linesMimeType, taskResourceAt, type TaskResource } from "../generation/extensions.ts";
import type { Requestor, Runtime } from "../runtime/runtime.ts";
import { HoldfastError, isUnknownTask } from "../task/fault.ts";
import { generations as known, type GenerationName, type TaskRecord } from "../task/record.ts";
import { shownLine } from "../task/task-line.ts";
import { scopeOf, type PlainOwner } from "./plain/plain-call.ts";

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

/** The log or output that a request reads; undefined for every other request, including reads of other resources. */
export function taskResourceOf(method: unknown, params: unknown): TaskResource | undefined {
  return method === readMethod && isJsonObject(params) ? taskResourceAt(params["uri"]) : undefined;
}

/** The same for requests that begin or end a subscription too. */
export function followedResourceOf(method: unknown, params: unknown): TaskResource | undefined {
  const follows = method === subscribeMethod || method === unsubscribeMethod;
  return follows && isJsonObject(params) ? taskResourceAt(params["uri"]) : taskResourceOf(method, params);
}

/**
 * What a `resources/read` is answered with. For a task that does not exist, or is another's, it is refused as the SDK refuses
 * an unknown resource.
 */
export async function readTaskResource(
  runtime: Runtime,
  resource: TaskResource,
  reader: LineReader,
): Promise<JsonObject> {
  const { uri, list, after } = resource;
  const page = { list, after, limit: mostLines };
  const lines = await ofTask(runtime, resource, reader, (id, requestor) =>
    runtime.lines(id, requestor, page),
  );
  if (lines === undefined) throw resourceNotFound(uri);
  const text = lines.map((line) => `${JSON.stringify(shownLine(line))}\n`).join("");
  return { contents: [{ uri, mimeType: linesMimeType, text }] };
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

async function ofTask<T>(
  runtime: Runtime,
  { task }: TaskResource,
  reader: LineReader,
  read: (id: string, requestor: Requestor) => Promise<T>,
): Promise<T | undefined> {
  const { principal, scopes, generations } = reader;
  const scope = scopeOf(reader);
  for (const generation of generations) {
    // The names that requestors choose are unique only among their own tasks.
    const hasNames = scope !== undefined && known[generation].requestorsNameTasks;
    const found = hasNames ? await runtime.find({ generation, scope, wireId: task }) : undefined;
    try {
      return await read(found ?? task, { generation, principal, scopes });
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
    }
  }
  return undefined;
}
