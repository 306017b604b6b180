import { HoldfastError } from "../task/fault.ts";
import { namesProblem, type OptionNames } from "../task/option-names.ts";
import type { TaskQuery, TaskSelection, AdminTaskState } from "./admin.ts";

export const adminTaskStates: readonly AdminTaskState[] = [
  "queued",
  "waiting",
  "running",
  "input_required",
  "completed",
  "failed",
  "cancelled",
];

const selectionNames: OptionNames<TaskSelection> = {
  states: true,
  tool: true,
  principal: true,
  owner: true,
  createdFrom: true,
  createdBefore: true,
  text: true,
  retried: true,
};
const queryNames: OptionNames<TaskQuery> = { ...selectionNames, limit: true, after: true };

const mostListed = 1_000;

/** Throws `invalid_params` for a selection that can match nothing. */
export function assertSelection(selection: TaskSelection): void {
  assertNames(selection, selectionNames);
  const { states = [], createdFrom, createdBefore } = selection;
  for (const state of states)
    if (!adminTaskStates.includes(state))
      throw invalid(
        `There is no state ${JSON.stringify(state)}. The states are ${adminTaskStates.join(", ")}.`,
      );
  for (const time of [createdFrom, createdBefore])
    if (time !== undefined && !Number.isFinite(time))
      throw invalid(`A time must be a number of milliseconds, not ${String(time)}.`);
}

/** As `assertSelection`; returns the number of requested tasks. */
export function limitOf(query: TaskQuery): number {
  const { limit = 50, after: _after, ...selection } = query;
  assertNames(query, queryNames);
  assertSelection(selection);
  return wholeUpTo("limit", limit, mostListed);
}

export function wholeUpTo(name: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw invalid(`${name} must be a whole number from 1 to ${most}, not ${String(value)}.`);
}

function assertNames(given: object, names: object): void {
  const problem = namesProblem("A query", given, Object.keys(names));
  if (problem !== undefined) throw invalid(problem);
}

function invalid(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", problem);
}
