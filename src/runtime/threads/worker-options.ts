import type { ValueSource } from "../stored-values.ts";
import type { TimeSpan } from "../../task/time.ts";
import { tableOf, text, time, value } from "../../options/options.ts";
import type { JournalKey } from "../../task/journal.ts";

/** What the server and its threads tell each other. Values and errors are texts, as the journal stores them. */

/** A function to call, once per message: a thread has one at a time. */
export interface ThreadJob {
  /** The URL of the module. */
  readonly module: string;
  readonly export: string;
  readonly input: string | null;
  readonly idempotencyKey: string;
  /** What is said of a result that cannot be stored. */
  readonly result: Pick<ValueSource, "what" | "name" | "maxBytes">;
}

export type ToThread =
  | { readonly type: "run"; readonly job: ThreadJob }
  /** The function should end. */
  | { readonly type: "abort"; readonly reason: string }
  /** What a call has come to. */
  | { readonly type: "answer"; readonly call: number; readonly error?: string };

/** How a function ended. */
export type ThreadEnd = (
  | { readonly how: "returned"; readonly value: string | null; readonly instance?: readonly [string, string] }
  /** What it returned cannot be stored. */
  | { readonly how: "refused"; readonly error: string }
  | { readonly how: "threw"; readonly error: string; readonly stack?: string }
  /** There is no such function: the server is wrong. */
  | { readonly how: "missing"; readonly problem: string }
) & {
  /** The thread is of no more use. */
  readonly isSpent?: boolean;
};

/** What a function on a thread reports, by the methods of a task. */
export const reportMethods = ["log", "output", "progress", "status"] as const;

export type ReportMethod = (typeof reportMethods)[number];

export type FromThread =
  | {
      readonly type: "call";
      readonly call: number;
      readonly method: ReportMethod;
      readonly args: readonly unknown[];
    }
  | { readonly type: "ended"; readonly end: ThreadEnd };

/** A module for threads: its URL, with the types of what it exports. */
export interface WorkerModule<Exports = unknown> extends URL {
  /** Never set: for types only. */
  readonly "~exports"?: Exports;
}

/**
 * Gives the URL of a module the types of its exports, for steps and handlers on threads.
 *
 * ```ts
 * import type * as hash from "./hash.ts";
 *
 * const hashing = worker<typeof hash>(new URL("./hash.ts", import.meta.url));
 * const digest = await task.step("hash", { worker: hashing, export: "hash" }, { path });
 * ```
 */
export function worker<Exports>(module: URL): WorkerModule<Exports> {
  return module;
}

type AnyFunction = (...args: never[]) => unknown;

/** The names of the functions that a module exports. */
export type WorkerExport<Exports> = unknown extends Exports
  ? string
  : { [Name in keyof Exports]: Exports[Name] extends AnyFunction ? Name : never }[keyof Exports] & string;

type ExportOf<Exports, Name> = Name extends keyof Exports ? Exports[Name] : unknown;

/** The input of such a function: the last argument of `task.step`, `undefined` for one that takes none. */
export type WorkerInput<Exports, Name> =
  ExportOf<Exports, Name> extends (...args: infer Args) => unknown
    ? Args extends readonly []
      ? undefined
      : Args[0]
    : unknown;

/** What such a function returns, as `task.step` resolves with it. */
export type WorkerOutput<Exports, Name> =
  ExportOf<Exports, Name> extends (...args: never[]) => infer Returned ? Awaited<Returned> : unknown;

export function isWorkerModule(given: unknown): given is URL {
  return given instanceof URL && ["file:", "data:"].includes(given.protocol);
}

class DeclaredWorkerOptions<Exports = unknown, Name = string> {
  /** The module that has the function, such as `new URL("./hash.ts", import.meta.url)`. */
  readonly worker: WorkerModule<Exports> = value(
    "the URL of a module, made with new URL and import.meta.url",
    isWorkerModule,
    { required: true },
  );
  /** The name under which the module exports the function. */
  readonly export: Name = text("the name of an export", (name) => name !== "", { required: true }) as Name;
  /**
   * How long the function has to end after its signal aborts, when the task is cancelled or the time is over. Then its thread is ended. Default 1 second.
   */
  readonly killAfterMs?: TimeSpan = time({ min: 0, default: 1_000 });
}

/** The function that a step runs on a thread. The step's `timeoutMs` counts from its start, without the wait for a thread. */
export interface WorkerOptions<Exports = unknown, Name = string> extends DeclaredWorkerOptions<
  Exports,
  Name
> {}

export const workerOptions = tableOf<WorkerOptions>(DeclaredWorkerOptions);

class DeclaredHandlerModule<Exports = unknown, Name = string> {
  /** The module that has the function, such as `new URL("./render.ts", import.meta.url)`. */
  readonly module: WorkerModule<Exports> = value(
    "the URL of a module, made with new URL and import.meta.url",
    isWorkerModule,
    { required: true },
  );
  /** The name under which the module exports the function. */
  readonly export: Name = text("the name of an export", (name) => name !== "", { required: true }) as Name;
  /** As for a step on a thread. Default 1 second. */
  readonly killAfterMs?: TimeSpan = time({ min: 0, default: 1_000 });
}

/** The function that is the handler of a tool, on a thread. It gets the arguments, and returns what a handler may return. */
export interface HandlerModule<Exports = unknown, Name = string> extends DeclaredHandlerModule<
  Exports,
  Name
> {}

export const handlerModule = tableOf<HandlerModule>(DeclaredHandlerModule);

/** As far as a handler on a thread needs its task. */
interface StepsOnThreads {
  step(key: JournalKey, options: WorkerOptions, input: unknown): Promise<unknown>;
}

/** The key of the step that such a handler is. */
const handlerKey = "handler";

/** A handler whose function runs on a thread, as the only step of its task. */
export function threadHandler({ module, ...how }: HandlerModule) {
  return (args: unknown, task: StepsOnThreads): Promise<unknown> =>
    task.step(handlerKey, { worker: module, ...how }, args);
}
