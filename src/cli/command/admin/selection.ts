import { InvalidArgumentError } from "commander";
import { millisecondsOf } from "../../../task/time.ts";
import { collect, type OptionsOf } from "../../declare.ts";
import { UsageError } from "../../errors.ts";
import type { Input } from "../../../admin/operation.ts";
import {
  type AdminTaskState,
  type AdminWaitReason,
  type TaskSelection,
  adminTaskStates,
  adminWaitReasons,
} from "../../../admin/admin.ts";

/** The option for a member: `--keep-up-to` for `keepUpTo`, and `--task` for `taskId`. */
export function optionOf(name: string): string {
  return `--${wordOf(name.replace(/Id$/, ""))}`;
}

/** The command of an operation: `end-session` for `endSession`. */
export function wordOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** A number of things, as an option gives it. */
export function countOf(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError("It must be a whole number, 1 or more.");
  return number;
}

/** The milliseconds in `90s`, `5m`, `48h` or `7d`; `what` names the option or argument. */
export function readTimeSpan(what: string, text: string): number {
  try {
    return millisecondsOf(text);
  } catch {
    throw new UsageError(`${what} takes a duration such as 90s, 5m, 48h or 7d, not ${JSON.stringify(text)}.`);
  }
}

/** A future time: `2d` from now, a date in ISO 8601, or `never`, which is null. Throws a UsageError. */
export function untilOf(text: string, now: number): number | null {
  if (text === "never") return null;
  try {
    return Math.ceil(now + millisecondsOf(text));
  } catch {
    const date = dateOf(text);
    if (Number.isFinite(date)) return date;
    throw new UsageError(
      `Extend a task by a duration such as 90s, 5m, 48h or 7d, to a date, or "never", not ${JSON.stringify(text)}.`,
    );
  }
}

/** A time that is over (epoch ms): `2h` is two hours ago; or a date in ISO 8601. Throws a UsageError. */
export function pastTime(what: string, text: string, now: number): number {
  const date = dateOf(text);
  return Number.isFinite(date) ? date : now - readTimeSpan(what, text);
}

/** A date in ISO 8601 (epoch ms). NaN for others, also for a day that its month does not have, which `Date` takes for one of the next. */
function dateOf(text: string): number {
  const day = /^\d{4}-\d\d-\d\d/.exec(text)?.[0];
  if (day === undefined || Number.isNaN(Date.parse(day))) return NaN;
  return new Date(day).toISOString().startsWith(day) ? Date.parse(text) : NaN;
}

/** They select tasks. */
export const selecting = [
  [
    "--state <state>",
    `tasks in this state; can be repeated: ${adminTaskStates.join(", ")}`,
    { parse: collect },
  ],
  [
    "--waits-for <reason>",
    `tasks that wait for this; can be repeated: ${adminWaitReasons.join(", ")}`,
    { parse: collect },
  ],
  ["--tool <name>", "tasks of this tool"],
  ["--principal <name>", "tasks of this caller"],
  ["--nobody", "tasks of unidentified callers"],
  ["--node <id>", "tasks that this process runs, will run or ran last"],
  ["--older-than <time>", "tasks created longer ago than this: 90s, 5m, 48h, 7d"],
  ["--newer-than <time>", "tasks created within this time"],
  ["--cause <cause>", "tasks that failed with this cause"],
  ["--text <text>", "tasks whose status text contains this"],
  ["--retried", "tasks that were run again as others"],
  ["--not-retried", "tasks that were not; with --all, the default"],
] as const;

/** They select tasks, and say how a command acts on them. */
export const selectingMany = [
  ...selecting,
  ["--all", "act on all selected tasks, newest first"],
  ["--limit <count>", "with --all: act on at most this many", { parse: countOf }],
  ["--dry-run", "with --all: count the tasks and change nothing"],
  ["--yes", "with --all: do not ask; needed without a terminal for more than one task"],
] as const;

export type SelectionOptions = OptionsOf<typeof selecting>;

export interface ManyTasksOptions extends OptionsOf<typeof selectingMany> {
  /** Only for `retry`. */
  readonly fromStart?: true;
}

/**
 * The task that a command is about; undefined for all selected tasks. Throws a UsageError if neither is given, or both, or with `--all` an option
 * for one task (`alone`).
 */
export function oneTask(
  id: unknown,
  options: ManyTasksOptions & Input,
  alone: readonly string[] = [],
): string | undefined {
  const { all, limit, dryRun, ...others } = options;
  if (all === true && id !== undefined) throw new UsageError("Give the id of a task, or --all, not both.");
  if (all === true && alone.some((name) => options[name] !== undefined))
    throw new UsageError(`${alone.map(optionOf).join(" and ")} work on one task at a time.`);
  if (all === true) return undefined;
  if (typeof id !== "string") throw new UsageError("Give the id of a task, or --all with filters.");
  if (selectionText(others) !== "all" || limit !== undefined || dryRun === true)
    throw new UsageError("Filters, --limit and --dry-run need --all.");
  return id;
}

/** The tasks that options select at one time. Throws a UsageError for an invalid selection. */
export function selectionOf(options: SelectionOptions, now: number): TaskSelection {
  const { state, waitsFor, tool, principal, nobody, node, olderThan, newerThan, cause, text } = options;
  const { retried, notRetried } = options;
  if (retried === true && notRetried === true)
    throw new UsageError("Give --retried or --not-retried, not both.");
  if (principal !== undefined && nobody === true)
    throw new UsageError("Give --principal or --nobody, not both.");
  return {
    ...(state !== undefined && { states: state.map(stateNamed) }),
    ...(waitsFor !== undefined && { waitsFor: waitsFor.map(reasonNamed) }),
    ...(tool !== undefined && { tool }),
    ...(principal !== undefined && { principal }),
    ...(nobody === true && { principal: null }),
    ...(node !== undefined && { owner: node }),
    ...(newerThan !== undefined && { createdFrom: now - readTimeSpan("--newer-than", newerThan) }),
    ...(olderThan !== undefined && { createdBefore: now - readTimeSpan("--older-than", olderThan) }),
    ...(cause !== undefined && { cause }),
    ...(text !== undefined && { text }),
    ...(retried === true && { retried }),
    ...(notRetried === true && { retried: false }),
  };
}

/** As command-line options, for messages. */
export function selectionText({ state = [], waitsFor = [], ...others }: SelectionOptions): string {
  const { tool, principal, nobody, node, olderThan, newerThan, cause, text, retried, notRetried } = others;
  const parts = [
    ...state.map((one) => `state ${one}`),
    ...waitsFor.map((one) => `waiting for ${one}`),
    tool !== undefined && `tool ${tool}`,
    principal !== undefined && `principal ${principal}`,
    nobody === true && "of unidentified callers",
    node !== undefined && `node ${node}`,
    olderThan !== undefined && `older than ${olderThan}`,
    newerThan !== undefined && `newer than ${newerThan}`,
    cause !== undefined && `cause ${cause}`,
    text !== undefined && `text "${text}"`,
    retried === true && "retried",
    notRetried === true && "not retried",
  ].filter((part) => part !== false);
  return parts.length === 0 ? "all" : parts.join(", ");
}

function stateNamed(given: string): AdminTaskState {
  const found = adminTaskStates.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UsageError(
    `There is no state ${JSON.stringify(given)}. The states are ${adminTaskStates.join(", ")}.`,
  );
}

function reasonNamed(given: string): AdminWaitReason {
  const found = adminWaitReasons.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UsageError(
    `Tasks do not wait for ${JSON.stringify(given)}. They wait for ${adminWaitReasons.join(", ")}.`,
  );
}
