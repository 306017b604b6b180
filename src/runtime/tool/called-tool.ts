import type { CallToolResult } from "@modelcontextprotocol/server";
import type { TimeSpan } from "../../task/time.ts";
import { numberKind, orKind } from "../../options/kind.ts";
import { callback, number, options, row, tableOf, time, value } from "../../options/options.ts";
import { type Backoff, backoffOptions } from "../clock.ts";
import type { LimitName } from "../limits/limit-name.ts";
import { isLimitName } from "../limits/limit-options.ts";

class DeclaredPollOptions<T> {
  /** The pause before the next look, in milliseconds. */
  readonly every: TimeSpan = time({ min: 1, fractions: true, required: true });
  /** The factor by which each pause is longer than the one before. Default 1. */
  readonly factor?: number = number({ min: 1, fractions: true, default: 1 });
  /** The longest pause that `factor` makes. Default: 1 hour, or `every` if that is longer. */
  readonly maxEvery?: TimeSpan = time({ min: 1, fractions: true });
  /** The random part of each pause that is taken off, so that many polls do not look together: from 0 to 1. Default 0.1. */
  readonly jitter?: number = number({ min: 0, max: 1, fractions: true, default: 0.1 });
  /** Whether this is what the poll looks for. Default: anything but `undefined` is. */
  readonly until?: (value: T) => boolean = callback();
  /**
   * How long to look, counted from the first look. When that is over, the poll looks for the last time, and then rejects with `poll_timeout`.
   * A timeout after the end of the task itself rejects at once, with `outlives_task`. Default: as long as the task lives.
   */
  readonly timeoutMs?: TimeSpan = time({ min: 1, fractions: true });
  /** The time limit of each look: after that it has failed with `step_timeout`. Default: none. */
  readonly lookTimeoutMs?: TimeSpan = time({ min: 1, fractions: true });
  /** How many looks in a row may fail: the one after that ends the poll with its error. `Infinity`: any number. Default 0. */
  readonly retries?: number = row(orKind(numberKind("number", { min: 0 }), Infinity), { default: 0 });
  /** The pauses after looks that fail. By default they start at 1 second and double up to a minute. */
  readonly backoff?: Backoff = options(backoffOptions);
  /** Whether to look again after this error, as in a step. */
  readonly retryIf?: (error: unknown) => boolean | number = callback();
  /** A limit for each look, as for a step. Default: none. */
  readonly limit?: LimitName = value(
    'the name of a limit, or a name and a key: ["jobs", tenant]',
    isLimitName,
  );
}

/** How `task.poll` looks. */
export interface PollOptions<T = unknown> extends DeclaredPollOptions<T> {}

export const pollOptions = tableOf<PollOptions<unknown>>(DeclaredPollOptions);

/**
 * A registered tool, for `task.call`: its name and, for TypeScript, its argument and result types. A handler that calls its own tool uses
 * the name, because TypeScript cannot infer the reference's type from itself.
 */
export interface ToolReference<in Args = never, out Structured = unknown> {
  readonly name: string;
  /** Never set: for types only. */
  readonly "~types"?: {
    readonly takes: (args: Args) => void;
    readonly returns: Structured;
  };
}

/** The result of a called tool. It has no `isError`, so a tool with an output schema always has structured content. */
export type ToolResult<Structured> = unknown extends Structured
  ? CallToolResult
  : CallToolResult & { readonly structuredContent: Structured };

/** A tool for a handler to call: what `tasks.tool` returned, or its name. */
export type CalledTool = ToolReference | string;

/** One of the calls of `task.all`. */
export interface ToolCall<Tool extends CalledTool = CalledTool> {
  readonly tool: Tool;
  /** The tool's arguments. */
  readonly arguments: CallArguments<Tool>;
}

/** The arguments of a call of the tool. */
export type CallArguments<Tool> =
  Tool extends ToolReference<infer Args> ? Args : Readonly<Record<string, unknown>>;

/** The arguments of `task.call` after the tool: a tool that is called by its name may have none. */
export type CallRest<Tool> = Tool extends string
  ? [args?: Readonly<Record<string, unknown>>]
  : [args: CallArguments<Tool>];

/** What a call of the tool resolves with. */
export type CallResult<Tool> =
  Tool extends ToolReference<never, infer Structured> ? ToolResult<Structured> : CallToolResult;

class DeclaredAllOptions {
  /** How many calls run at the same time. Default 10. */
  readonly concurrency?: number = number({ min: 1, max: 1_000, default: 10 });
}

/** Options of `task.all`. */
export interface AllOptions extends DeclaredAllOptions {}

export const allOptions = tableOf<AllOptions>(DeclaredAllOptions);
