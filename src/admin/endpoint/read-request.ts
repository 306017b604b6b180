import { HoldfastError } from "../../task/fault.ts";
import type { BulkAction, BulkOptions, RetryOptions, TaskQuery, TaskSelection } from "../admin.ts";
import { wholeUpTo } from "../assert-query.ts";
import { Fields } from "./fields.ts";
import { stateNamed, type Query } from "./query.ts";

/** The maximum number of tasks per request, which is answered once all are changed. */
export const mostInBulk = 10_000;

export const bulkActions: readonly BulkAction[] = ["cancel", "retry", "delete", "extend"];

export function taskQuery(query: Query): TaskQuery {
  const states = query.states("state");
  const [tool, principal, text] = [query.text("tool"), query.text("principal"), query.text("text")];
  const owner = query.text("owner");
  const [createdFrom, createdBefore] = [query.number("createdFrom"), query.number("createdBefore")];
  const [limit, after, nobody] = [query.number("limit"), query.text("after"), query.boolean("nobody")];
  if (nobody === true && principal !== undefined)
    throw invalid("Give either principal, or nobody=true for tasks of unidentified callers.");
  return {
    ...(states && { states }),
    ...(tool !== undefined && { tool }),
    ...(principal !== undefined && { principal }),
    ...(nobody === true && { principal: null }),
    ...(owner !== undefined && { owner }),
    ...(createdFrom !== undefined && { createdFrom }),
    ...(createdBefore !== undefined && { createdBefore }),
    ...(text !== undefined && { text }),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
  };
}

/** The answers in a body. */
export function answersIn(body: unknown): Readonly<Record<string, unknown>> {
  const fields = new Fields(body, ["answers"]);
  const answers = fields.needed("answers", fields.value("answers"));
  if (typeof answers !== "object" || answers === null || Array.isArray(answers))
    throw invalid("The body's answers must be an object that maps questions' keys to answers.");
  return Object.fromEntries(Object.entries(answers));
}

export function retryOptions(body: unknown): RetryOptions {
  const fields = new Fields(body, ["arguments", "keepUpTo"]);
  const keepUpTo = fields.text("keepUpTo");
  return {
    ...(fields.has("arguments") && { arguments: fields.value("arguments") }),
    ...(keepUpTo !== undefined && { keepUpTo }),
  };
}

export function untilIn(body: unknown): number | null {
  const fields = new Fields(body, ["until"]);
  return fields.needed("until", fields.numberOrNull("until"));
}

export function nothingIn(body: unknown): void {
  void new Fields(body, []);
}

export interface BulkRequest {
  readonly action: BulkAction;
  readonly selection: TaskSelection;
  readonly options: BulkOptions;
}

export function bulkRequest(body: unknown): BulkRequest {
  const fields = new Fields(body, ["action", "selection", "options"]);
  const action = bulkActions.find((each) => each === fields.value("action"));
  if (action === undefined) throw invalid(`The body's action must be one of ${bulkActions.join(", ")}.`);
  return {
    action,
    selection: selectionIn(fields.needed("selection", fields.value("selection"))),
    options: bulkOptions(fields.value("options") ?? {}),
  };
}

function selectionIn(value: unknown): TaskSelection {
  const names = ["states", "tool", "principal", "owner", "createdFrom", "createdBefore", "text"];
  const fields = new Fields(value, names, "selection");
  const states = fields.list("states")?.map(stateNamed);
  const [tool, principal, text] = [fields.text("tool"), fields.textOrNull("principal"), fields.text("text")];
  const owner = fields.text("owner");
  const [createdFrom, createdBefore] = [fields.number("createdFrom"), fields.number("createdBefore")];
  return {
    ...(states && { states }),
    ...(tool !== undefined && { tool }),
    ...(principal !== undefined && { principal }),
    ...(owner !== undefined && { owner }),
    ...(createdFrom !== undefined && { createdFrom }),
    ...(createdBefore !== undefined && { createdBefore }),
    ...(text !== undefined && { text }),
  };
}

function bulkOptions(value: unknown): BulkOptions {
  const fields = new Fields(value, ["dryRun", "limit", "until", "after"], "options");
  const [dryRun, limit] = [fields.boolean("dryRun"), fields.number("limit")];
  const [until, after] = [fields.numberOrNull("until"), fields.text("after")];
  return {
    ...(dryRun !== undefined && { dryRun }),
    ...(limit !== undefined && { limit: wholeUpTo("limit", limit, mostInBulk) }),
    ...(until !== undefined && { until }),
    ...(after !== undefined && { after }),
  };
}

function invalid(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", problem);
}
