import type { Runtime } from "../runtime/runtime.ts";
import type { ReserveMemory } from "../store/store.ts";
import { isStopping } from "../task/fault.ts";
import type { TaskRecord, TaskSnapshot } from "../task/record.ts";
import { isTerminal } from "../task/outcome.ts";
import { generation as plain, type PlainOwner, scopeOf } from "./plain/plain-policies.ts";
import { listenMethod, taskListening } from "../generation/2026-07-28-listen.ts";
import { isJsonObject } from "../generation/message.ts";
import { relatedTaskOf, generation as sep } from "../generation/sep-1686.ts";
import type { TaskResource } from "../generation/extensions.ts";
import { calledTool } from "./request.ts";
import { namedResourceOf, ofTask } from "./task-resources.ts";

/** Digits and capital letters that people and models do not confuse with one another. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const length = 8;
const group = 4;
const form = new RegExp(`^[${alphabet}]{${length}}$`);

/**
 * A name for a task that people and models can repeat, such as `K7QM-2XWD`. It has 39 bits, which make it unique among the
 * tasks of one owner, and is no secret: it finds a task for its owner only.
 */
export function newReference(randomBytes: (size: number) => Uint8Array): string {
  const fair = 256 - (256 % alphabet.length);
  let letters = "";
  while (letters.length < length) {
    for (const byte of randomBytes(length)) {
      // The remaining values would favour some letters.
      if (byte < fair && letters.length < length) letters += alphabet[byte % alphabet.length];
    }
  }
  return grouped(letters);
}

/** The reference in what a model or user typed, with any spacing and case; undefined if it is no reference. */
export function readReference(typed: string): string | undefined {
  const letters = typed.replaceAll(/[\s-]/g, "").toUpperCase();
  return form.test(letters) ? grouped(letters) : undefined;
}

function grouped(letters: string): string {
  return `${letters.slice(0, group)}-${letters.slice(group)}`;
}

/**
 * How many tasks a model is shown, and how many are read to find them, most of which have ended: by default, a principal has at most
 * `onPage` times `pages`.
 */
const most = { shown: 20, onPage: 200, pages: 100 };

/** The caller's own task with this reference or id; undefined if there is none, or if it is another caller's. */
export function findTask(
  runtime: Runtime,
  owner: PlainOwner,
  typed: string,
  reserve: ReserveMemory | undefined,
): Promise<TaskSnapshot | undefined> {
  const named = { task: readReference(typed) ?? typed.trim() };
  return ofTask(runtime, named, { ...owner, generations: [plain] }, (id, requestor) =>
    runtime.get(id, requestor, undefined, reserve),
  );
}

/** The caller's own running tasks, newest first, as many as a model can use; none if nothing is known of the caller. */
export async function unfinishedTasks(runtime: Runtime, owner: PlainOwner): Promise<readonly TaskRecord[]> {
  const scope = scopeOf(owner);
  const tasks: TaskRecord[] = [];
  if (scope === undefined) return tasks;
  const { principal, scopes } = owner;
  let after: string | undefined;
  for (let pages = 0; pages < most.pages && tasks.length < most.shown; pages++) {
    const page = { scope, limit: most.onPage, ...(after === undefined ? {} : { after }) };
    const records = await runtime.list({ generation: plain, principal, scopes }, page);
    tasks.push(...records.filter((task) => !isTerminal(task.state)));
    if (records.length < most.onPage) break;
    after = records.at(-1)?.id;
  }
  return tasks.slice(0, most.shown);
}

/** A task as a message names it: by its id, or by a name that is unique among its principal's tasks of a generation. */
interface Named {
  readonly id: string;
  readonly wireId: string | undefined;
  /** Those in which the name may be. */
  readonly generations: readonly (typeof sep | typeof plain)[];
}

type IsPollingTool = (tool: string) => boolean;

/**
 * The scopes that are needed for the principal's own tasks that a body names, which is a message or a batch; none for
 * unknown tasks, or another's.
 */
export async function scopesOfTasks(
  runtime: Runtime,
  body: unknown,
  principal: string | null,
  isPollingTool: IsPollingTool,
): Promise<ReadonlySet<string>> {
  const scopes = new Set<string>();
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  for (const message of messages) {
    const named = namedBy(message, isPollingTool);
    if (named === undefined) continue;
    for (const scope of (await scopesOf(runtime, named, principal)) ?? []) scopes.add(scope);
  }
  return scopes;
}

/** Whether all tasks that a message names or listens to are the principal's own. */
export async function findsAll(
  runtime: Runtime,
  message: unknown,
  principal: string | null,
  isPollingTool: IsPollingTool,
): Promise<boolean> {
  const named = namedBy(message, isPollingTool);
  if (named !== undefined) return (await scopesOf(runtime, named, principal)) !== undefined;
  for (const listened of listenedTo(message)) {
    if ((await scopesOf(runtime, listened, principal)) === undefined) return false;
  }
  return true;
}

function listenedTo(message: unknown): readonly Named[] {
  if (!isJsonObject(message) || message["method"] !== listenMethod) return [];
  const { taskIds, resources = [] } = taskListening(message["params"]) ?? {};
  const ids = Array.isArray(taskIds) ? taskIds.filter((id) => typeof id === "string") : [];
  return [
    ...ids.map((id) => ({ id, wireId: undefined, generations: [] })),
    ...resources.map((resource) => byResource(resource)),
  ];
}

function namedBy(message: unknown, isPollingTool: IsPollingTool): Named | undefined {
  if (!isJsonObject(message) || !isJsonObject(message["params"])) return undefined;
  const { method, params } = message;
  if (typeof method !== "string") return undefined;
  if (method.startsWith("tasks/")) return bySep(params["taskId"]);
  const resource = namedResourceOf(method, params);
  if (resource !== undefined) return byResource(resource);
  if (method === "notifications/cancelled") return bySep(relatedTaskOf(params));
  if (method !== "tools/call" || !isPollingTool(calledTool(params))) return undefined;
  const typed = isJsonObject(params["arguments"]) ? params["arguments"]["reference"] : undefined;
  return typeof typed === "string"
    ? { id: typed.trim(), wireId: readReference(typed), generations: [plain] }
    : undefined;
}

function byResource({ task }: Pick<TaskResource, "task">): Named {
  return { id: task, wireId: task, generations: [sep, plain] };
}

function bySep(taskId: unknown): Named | undefined {
  return typeof taskId === "string" ? { id: taskId, wireId: taskId, generations: [sep] } : undefined;
}

/**
 * Undefined if the principal has no such task, which takes the same time whether another has it or not. None while the
 * server stops, with which the request will fail itself.
 */
async function scopesOf(
  runtime: Runtime,
  { id, wireId, generations }: Named,
  principal: string | null,
): Promise<readonly string[] | undefined> {
  try {
    const known = await runtime.scopesOf(id, principal);
    const scope = scopeOf({ principal, session: undefined });
    if (known !== undefined || wireId === undefined || scope === undefined) return known;
    for (const generation of generations) {
      const found = await runtime.find({ generation, scope, wireId });
      if (found !== undefined) return await runtime.scopesOf(found, principal);
    }
    return undefined;
  } catch (error) {
    if (isStopping(error)) return [];
    throw error;
  }
}
