import { HoldfastError } from "../../task/fault.ts";
import { DecryptionError, isSealed } from "../../task/stored-text.ts";
import type { Origin, TaskRecord, TaskRequest } from "../../task/record.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { LineList, TaskLine } from "../../task/task-line.ts";
import { TaskLines } from "../journal/task-lines.ts";
import { nextTurn } from "../next-turn.ts";
import type { Services } from "../services.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

const entriesPerPage = 500;
const linesPerPage = 500;

/** What an attempt starts with, besides the record. */
export interface LoadedTask {
  readonly origin: Origin;
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared: string | null;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  /** Their lines in its log and its output. */
  readonly lines: readonly TaskLine[];
}

/**
 * Reads a task's stored data, except a request that is passed, however long the store fails. Rejects with `task_unreadable` if the data is
 * damaged, and when `signal` aborts.
 */
export async function loadTask(
  task: TaskRecord,
  services: Services,
  signal: AbortSignal,
  given?: TaskRequest,
): Promise<LoadedTask> {
  const { store } = services;
  const { id, journalled } = task;
  const request = given ?? (await untilStoreAnswers(() => store.request(id), services, signal));
  if (request === undefined) throw unreadable(id, "its request is missing");
  const { origin, prepared } = request;
  const args = parsed(id, "its arguments", request.arguments);
  if (prepared !== null) parsed(id, "the value that prepare returned", prepared);
  // What was prepared is in the journal, although the handler itself has journalled nothing.
  const hasJournal = journalled || origin.prepareInTask === true;
  const entries = hasJournal ? await loadJournal(id, services, signal) : [];
  const lines = [
    ...(task.logged === 0 ? [] : await loadLines(id, "log", services, signal)),
    ...(task.outputs === 0 ? [] : await loadLines(id, "output", services, signal)),
  ];
  return { origin, arguments: args, prepared, entries, lines };
}

async function loadLines(
  id: string,
  list: LineList,
  services: Services,
  signal: AbortSignal,
): Promise<readonly TaskLine[]> {
  const { logs } = services.store;
  if (logs === undefined) return [];
  const lines: TaskLine[] = [];
  for (;;) {
    const after = lines.at(-1)?.seq ?? 0;
    const page = await untilStoreAnswers(() => logs.read(id, list, after, linesPerPage), services, signal);
    lines.push(...page);
    if (page.length < linesPerPage) return lines;
  }
}

/** The log and the output of a task of the tool, for its next attempt. */
export function linesOf(
  { logged: log, outputs: output }: TaskRecord,
  { entries, lines: earlier }: LoadedTask,
  { retry }: Pick<Tool, "retry">,
  { store, options: limits }: Services,
): TaskLines {
  const failedRunAgain = retry !== undefined;
  const ended = earlier.length === 0 || failedRunAgain ? [] : entries.filter(({ doneAt }) => doneAt !== null);
  return new TaskLines({
    limits,
    areKept: store.logs !== undefined,
    earlier,
    last: { log, output },
    ended: ended.map(({ key }) => key),
    failedRunAgain,
  });
}

async function loadJournal(id: string, services: Services, signal: AbortSignal): Promise<ListedEntry[]> {
  const { store } = services;
  const entries: ListedEntry[] = [];
  for (let from = ""; ;) {
    const page = await untilStoreAnswers(() => store.journal(id, from, entriesPerPage), services, signal);
    entries.push(...page.entries);
    if (page.next === null) return entries;
    from = page.next;
    await nextTurn(); // a store may read without a pause, and a journal can be long
  }
}

function parsed(id: string, what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // With keys it would have been opened.
    if (!isSealed(json)) throw unreadable(id, `${what} is not JSON`);
    const problem = `this server has no key that decrypts ${what}`;
    throw unreadable(id, problem, new DecryptionError(problem));
  }
}

function unreadable(id: string, problem: string, cause?: DecryptionError): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}
