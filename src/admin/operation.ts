import * as z from "zod/mini";
import { HoldfastError, type FaultCode } from "../task/fault.ts";
import { didYouMean } from "../task/option-names.ts";
import { cutText } from "../task/stored-text.ts";
import type { Guarded } from "./roles.ts";
import type { Schema } from "./shape.ts";

// One thing that operators do. Everything that shows it to them is made from this: the method of `tasks.admin` and of `remoteAdmin`, the
// route of the admin endpoint with its OpenAPI document, and the words of the command line.
//
// - What it takes is checked here alone, before it runs, wherever it comes from.
// - The arguments of its method and its request over HTTP are the same input: an object with a member for each argument.

/** A method of an operation. */
type Method = (...given: never) => unknown;

/** What a method resolves with, or yields. */
type Given<M extends Method> =
  ReturnType<M> extends AsyncIterable<infer Each> ? Each : Awaited<ReturnType<M>>;

interface Row<Gives> extends Guarded {
  /** GET reads, all others act. */
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the path of the endpoint; `{…}` is a member of the input, percent-encoded. */
  readonly path: string;
  readonly summary: string;
  /** The arguments of the method, in their order, by their names. */
  readonly takes?: Schemas;
  /** The members of the object that is the method's last argument. Its members are members of the input. */
  readonly options?: Schemas;
  /** Names in a URL's query that differ from the input's. A list is repeated there, under the name of one. */
  readonly spelled?: Readonly<Record<string, string>>;
  /** The parameter whose `true` stands for a member that is null, which a query cannot say. */
  readonly nulls?: Readonly<Record<string, { readonly name: string; readonly description: string }>>;
  /** Left out: nothing. */
  readonly gives?: Schema<Gives>;
  /** Each value is an event of a stream, which takes no input. */
  readonly isStream?: true;
  /** What it shows data of a caller by: the task that it names, or the caller that it names. Such reads are recorded. */
  readonly shows?: "task" | "caller";
  /** Refusals besides those of every operation. */
  readonly faults?: readonly AdminFaultCode[];
}

type Schemas = Readonly<Record<string, Schema>>;

export interface Operation extends Row<unknown> {
  /** The name of its method. */
  readonly name: string;
  readonly input: z.ZodMiniObject;
}

/** The operations of an interface, by the names of its methods. */
export type Operations<Methods> = { readonly [Name in keyof Methods & string]: Operation };

/** An input: whatever an operation needs to know. */
export type Input = Readonly<Record<string, unknown>>;

/** Declares an operation: its row is set to a member of a class that has the method's type, as options are (`tableOf`). */
export function operation<M extends Method>(row: Row<Given<M>>): M {
  return row as unknown as M;
}

export function operationsOf<Methods extends object>(declared: new () => Methods): Operations<Methods> {
  const rows = Object.entries(new declared()) as unknown as readonly (readonly [string, Row<unknown>])[];
  const operations = rows.map(([name, row]): readonly [string, Operation] => [
    name,
    { ...row, name, input: z.strictObject({ ...row.takes, ...row.options }) },
  ]);
  return Object.fromEntries(operations) as Operations<Methods>;
}

/** The methods of operations. What they are given is checked before it runs; a stream takes a signal alone. */
export function methodsOf<Methods>(
  operations: Operations<Methods>,
  run: (operation: Operation, input: Input, signal?: AbortSignal) => unknown,
): Methods {
  const all: readonly Operation[] = Object.values(operations);
  const methods = all.map((each) => [
    each.name,
    each.isStream === true
      ? ({ signal }: { readonly signal?: AbortSignal } = {}) => run(each, {}, signal)
      : async (...given: readonly unknown[]) => run(each, checkedInput(each, inputOf(each, given))),
  ]);
  return Object.fromEntries(methods) as Methods;
}

/** Calls the method of an operation with its input. */
export function call(methods: object, called: Operation, input: Input, signal?: AbortSignal): unknown {
  const method: unknown = Reflect.get(methods, called.name);
  if (typeof method !== "function") throw new TypeError(`There is no method ${called.name}.`);
  const given = called.isStream === true ? [{ signal }] : argumentsOf(called, input);
  return Reflect.apply(method, methods, given);
}

function inputOf({ takes = {}, options }: Operation, given: readonly unknown[]): Input {
  const names = Object.keys(takes);
  const last = options === undefined ? {} : (given[names.length] ?? {});
  if (typeof last !== "object" || Array.isArray(last)) throw invalid("The options must be an object.");
  return { ...last, ...Object.fromEntries(names.map((name, place) => [name, given[place]])) };
}

function argumentsOf({ takes = {}, options }: Operation, input: Input): readonly unknown[] {
  const given = Object.keys(takes).map((name) => input[name]);
  const others = Object.entries(input).filter(([name]) => !Object.hasOwn(takes, name));
  return options === undefined ? given : [...given, Object.fromEntries(others)];
}

/** Throws `invalid_params` for an input that the operation does not take. */
export function checkedInput({ input }: Operation, given: unknown): Input {
  const { success, data, error } = input.safeParse(given, { reportInput: true });
  if (success) return data;
  const [issue] = error.issues;
  throw invalid(
    issue === undefined
      ? "The request is not valid."
      : sentenceOf(issue, "The request", Object.keys(input.shape)),
  );
}

/** What is wrong with an answer from elsewhere; undefined if it has the form that its operation gives. */
export function misfitOf({ gives }: Operation, answer: unknown): string | undefined {
  const issue = gives?.safeParse(answer, { reportInput: true }).error?.issues[0];
  return issue && sentenceOf(issue, "The answer");
}

export function invalid(problem: string): HoldfastError {
  return new HoldfastError("invalid_params", problem);
}

const kinds: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** What is wrong, for the operator who sent a request or gets an answer. `names` are the members that the whole has. */
function sentenceOf(issue: z.core.$ZodIssue, whole: string, names: readonly string[] = []): string {
  const what = issue.path.length === 0 ? whole : issue.path.join(".");
  const but = `not ${typeof issue.input === "number" ? issue.input : cutText(JSON.stringify(issue.input) ?? "nothing")}`;
  switch (issue.code) {
    case "unrecognized_keys": {
      const [unknown = ""] = issue.keys;
      const meant = issue.path.length === 0 ? didYouMean(unknown, names) : "";
      return `${what} has no ${JSON.stringify(unknown)}.${meant}`;
    }
    case "invalid_type":
      if (issue.input === undefined) return `${what} is missing.`;
      return `${what} must be ${kinds[issue.expected] ?? issue.expected}, ${but}.`;
    case "invalid_value":
      return `${what} must be one of ${issue.values.map(String).join(", ")}, ${but}.`;
    case "too_small":
      if (issue.origin === "string") return `${what} must not be empty.`;
      return `${what} must be at least ${issue.minimum}, ${but}.`;
    case "too_big":
      return `${what} must be at most ${issue.maximum}, ${but}.`;
    default:
      return `${what} is not valid: ${issue.message}.`;
  }
}

/**
 * The HTTP status of an admin endpoint's refusal, by its code. Any other fault is an internal error, whose details are in the server's log.
 */
const statuses = {
  invalid_params: 400,
  invalid_request: 400,
  unauthenticated: 401,
  insufficient_scope: 403,
  unknown_task: 404,
  method_not_found: 404,
  finished: 409,
  unfinished: 409,
  idempotency_conflict: 409,
  too_large: 413,
  store_refused: 422,
  limit_reached: 429,
  internal: 500,
  task_unreadable: 500,
  configuration: 501,
  store_failed: 503,
  store_closed: 503,
  store_lost: 503,
  stopping: 503,
} as const satisfies Partial<Record<FaultCode, number>>;

/** What an admin endpoint sends when it refuses a request. */
export type AdminFaultCode = keyof typeof statuses;

export function isAdminFault(code: unknown): code is AdminFaultCode {
  return typeof code === "string" && Object.hasOwn(statuses, code);
}

export function adminStatusOf(code: AdminFaultCode): number {
  return statuses[code];
}
