import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import { generation, scopeOf, type PlainOwner } from "./plain-call.ts";

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
export async function findTask(
  runtime: Runtime,
  owner: PlainOwner,
  typed: string,
): Promise<TaskSnapshot | undefined> {
  const { principal, scopes } = owner;
  const scope = scopeOf(owner);
  const wireId = readReference(typed);
  const found =
    wireId === undefined || scope === undefined
      ? undefined
      : await runtime.find({ generation, scope, wireId });
  try {
    return await runtime.get(found ?? typed.trim(), { generation, principal, scopes });
  } catch (error) {
    if (isUnknownTask(error)) return undefined;
    throw error;
  }
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
    const records = await runtime.list({ generation, principal, scopes }, page);
    tasks.push(...records.filter((task) => !isTerminal(task.state)));
    if (records.length < most.onPage) break;
    after = records.at(-1)?.id;
  }
  return tasks.slice(0, most.shown);
}
