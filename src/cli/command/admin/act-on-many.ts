import type { BulkAction, BulkOptions, BulkResult, TaskSelection } from "../../../admin/admin.ts";
import type { Context } from "../../context.ts";
import { Stopped, UsageError } from "../../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../../exit-code.ts";
import type { ManyTasksJson } from "../../output/json-shapes.ts";
import { confirm } from "../../terminal/confirm.ts";
import { Progress } from "../../terminal/progress.ts";
import { adminFailure, exitCodeOfAdmin } from "./admin-failure.ts";
import { selectionOf, selectionText, type SelectionOptions } from "./selection.ts";
import { tasksText } from "../../output/amounts.ts";
import { withAdmin, type AdminOptions, type AdminSession } from "./with-admin.ts";

export interface ManyTasksOptions extends AdminOptions, SelectionOptions {
  readonly all?: true;
  readonly limit?: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

interface ManyTasks {
  readonly place: string;
  readonly action: BulkAction;
  readonly options: ManyTasksOptions;
  /** Only for `extend`. */
  readonly until?: number | null;
}

/** Tasks between two lines of progress. Small, so that a request to an endpoint stays short. */
const atOnce = 200;

/** The maximum number of tasks to count before asking the user. */
const mostCounted = 1_000;

const doneTo: Readonly<Record<BulkAction, string>> = {
  cancel: "cancelled",
  retry: "run again",
  delete: "deleted",
  extend: "extended",
};

/** `holdfast admin STORE cancel|retry|delete|extend --all`: applies an action to all selected tasks. */
export async function actOnMany(context: Context, command: ManyTasks): Promise<ExitCode> {
  const { output } = context;
  const { place, action, options } = command;
  const { dryRun = false } = options;
  return withAdmin(context, { place, options, endsItself: true }, async (session) => {
    const selection = selectionOf(options, session.now());
    const isAgreed = dryRun || options.yes === true || (await agrees(context, command, selection, session));
    if (session.interrupts.signal.aborted)
      throw new Stopped(interruptedBy(session.interrupts), "Interrupted: nothing was changed");
    if (!isAgreed) throw new UsageError("Nothing was changed.");
    const { failure, ...result } = await doAll(context, command, selection, session);
    const { done, refused, next } = result;
    if (output.json) {
      const error = failure && { error: failure.message };
      const document: ManyTasksJson = { action, dryRun, ...result, ...error };
      await output.printJson(document);
      if (failure !== undefined) return exitCodeOfAdmin(failure);
    } else {
      await output.print(
        `${tasksText(done.length)} ${dryRun ? "would be" : done.length === 1 ? "was" : "were"} ${doneTo[action]}\n`,
      );
      for (const { id, message } of refused.slice(0, 10)) output.note(`refused: ${id}: ${message}`);
      if (refused.length > 10) output.note(`refused: ${refused.length - 10} more`);
      if (failure !== undefined) throw failure;
      if (next !== null) output.note("There may be more.");
    }
    if (session.interrupts.signal.aborted) return interruptedBy(session.interrupts);
    return refused.length > 0 ? exitCodes.failed : exitCodes.done;
  });
}

async function agrees(
  { io, output }: Context,
  { action, options, until }: ManyTasks,
  selection: TaskSelection,
  { acts, interrupts }: AdminSession,
): Promise<boolean> {
  if (output.json || !(io.stdin.isTTY && io.stderr.isTTY)) return true;
  const limit = Math.min(options.limit ?? Infinity, mostCounted);
  const { done, next } = await acts().bulk(action, selection, { ...extendUntil(until), dryRun: true, limit });
  const count = `${next === null || done.length < mostCounted ? "" : "At least "}${tasksText(done.length)}`;
  const question = `${count} will be ${doneTo[action]}: ${selectionText(options)}. Continue?`;
  return confirm(io, question, interrupts);
}

async function doAll(
  { io, output }: Context,
  { action, options, until }: ManyTasks,
  selection: TaskSelection,
  { acts, interrupts }: AdminSession,
): Promise<BulkResult & { readonly failure?: Error }> {
  const { limit = Infinity, dryRun = false } = options;
  const [done, created]: [string[], string[]] = [[], []];
  const refused: BulkResult["refused"][number][] = [];
  using progress = new Progress(io.stderr, !output.json);
  const operator = acts();
  let next: string | null = null;
  do {
    const most = Math.min(atOnce, limit - done.length - refused.length);
    const how: BulkOptions = {
      dryRun,
      limit: most,
      ...extendUntil(until),
      ...(next !== null && { after: next }),
    };
    let part: BulkResult;
    try {
      part = await operator.bulk(action, selection, how);
    } catch (error) {
      // Still report what was done before.
      if (next === null) throw error;
      return { done, created, refused, next, failure: failureOf(error) };
    }
    done.push(...part.done);
    created.push(...part.created);
    refused.push(...part.refused);
    next = part.next;
    progress.show(
      `${done.length} ${doneTo[action]}${refused.length > 0 ? `, ${refused.length} refused` : ""}`,
    );
  } while (next !== null && done.length + refused.length < limit && !interrupts.signal.aborted);
  return { done, created, refused, next };
}

function failureOf(error: unknown): Error {
  const failure = adminFailure(error);
  return failure instanceof Error ? failure : new Error(String(failure));
}

function extendUntil(until: number | null | undefined): Pick<BulkOptions, "until"> {
  return until === undefined ? {} : { until };
}
