import { HoldfastError } from "../../task/fault.ts";
import type { JournalEntry } from "../../task/journal.ts";
import type { Origin, TaskRecord, TaskRequest } from "../../task/record.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

/** What an attempt begins with, beside the record. */
export interface LoadedTask {
  readonly origin: Origin;
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared: string | null;
  /** What earlier attempts journalled. */
  readonly journal: readonly JournalEntry[];
}

/**
 * Reads what is stored of a task, but for a request that is given, however long the store fails. Rejects with
 * `task_unreadable` where that is damaged, and when `signal` aborts.
 */
export async function loadTask(
  { id, journalled }: TaskRecord,
  services: Services,
  signal: AbortSignal,
  given?: TaskRequest,
): Promise<LoadedTask> {
  const { store } = services;
  const request = given ?? (await untilStoreAnswers(() => store.request(id), services, signal));
  if (request === undefined) throw unreadable(id, "it has no request");
  const { origin, prepared } = request;
  const args = parsed(id, "its arguments", request.arguments);
  if (prepared !== null) parsed(id, "what was prepared for it", prepared);
  // What was prepared is in the journal, although the handler itself has journalled nothing.
  const journal =
    journalled || origin.prepareInTask === true
      ? await untilStoreAnswers(() => store.journal(id), services, signal)
      : [];
  for (const { key, value, error } of journal) {
    for (const json of [value, error]) if (json !== null) parsed(id, `the journal's "${key}"`, json);
  }
  return { origin, arguments: args, prepared, journal };
}

function parsed(id: string, what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw unreadable(id, `${what} is not JSON`);
  }
}

function unreadable(id: string, problem: string): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`);
}
