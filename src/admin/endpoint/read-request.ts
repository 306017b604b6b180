import { HoldfastError } from "../../task/fault.ts";
import type { BulkAction, BulkOptions, RetryOptions, TaskQuery, TaskSelection } from "../admin.ts";
import { wholeUpTo } from "../assert-query.ts";
import { stateNamed, type Query } from "./query.ts";

/** The maximum number of tasks per request, which is answered once all are changed. */
export const mostInBulk = 10_000;

export const bulkActions: readonly BulkAction[] = ["cancel", "retry", "delete", "extend"];

export function taskQuery(query: Query): TaskQuery {
  const states = query.states("state");
  const [tool, principal, text] = [query.text("tool"), query.text("principal"), query.text("text")];
  const [owner, retried] = [query.text("owner"), query.boolean("retried")];
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
    ...(retried !== undefined && { retried }),
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
  const fields = new Fields(body, ["arguments", "keepUpTo", "fromStart"]);
  const [keepUpTo, fromStart] = [fields.text("keepUpTo"), fields.boolean("fromStart")];
  return {
    ...(fromStart !== undefined && { fromStart }),
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
  const names = ["states", "tool", "principal", "owner", "createdFrom", "createdBefore", "text", "retried"];
  const fields = new Fields(value, names, "selection");
  const states = fields.list("states")?.map(stateNamed);
  const [tool, principal, text] = [fields.text("tool"), fields.textOrNull("principal"), fields.text("text")];
  const [owner, retried] = [fields.text("owner"), fields.boolean("retried")];
  const [createdFrom, createdBefore] = [fields.number("createdFrom"), fields.number("createdBefore")];
  return {
    ...(states && { states }),
    ...(tool !== undefined && { tool }),
    ...(principal !== undefined && { principal }),
    ...(owner !== undefined && { owner }),
    ...(createdFrom !== undefined && { createdFrom }),
    ...(createdBefore !== undefined && { createdBefore }),
    ...(text !== undefined && { text }),
    ...(retried !== undefined && { retried }),
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

/** The members of an object in a request's body. Throws `invalid_params` unless it is an object with only `known` members. */
export class Fields {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #where: string;

  constructor(value: unknown, known: readonly string[], where = "The body") {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw invalid(`${where} must be a JSON object.`);
    this.#fields = new Map(Object.entries(value));
    this.#where = where;
    for (const name of this.#fields.keys())
      if (!known.includes(name)) throw invalid(`${where} must not contain ${JSON.stringify(name)}.`);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  value(name: string): unknown {
    return this.#fields.get(name);
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    throw invalid(`${this.#where}: ${name} must be a string.`);
  }

  textOrNull(name: string): string | null | undefined {
    return this.value(name) === null ? null : this.text(name);
  }

  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "number") return value;
    throw invalid(`${this.#where}: ${name} must be a number.`);
  }

  numberOrNull(name: string): number | null | undefined {
    return this.value(name) === null ? null : this.number(name);
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw invalid(`${this.#where}: ${name} must be true or false.`);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw invalid(`${this.#where}: ${name} must be a list.`);
  }

  /** Throws if the member is missing. */
  needed<T>(name: string, value: T | undefined): T {
    if (value !== undefined) return value;
    throw invalid(`${this.#where} must contain ${name}.`);
  }
}
