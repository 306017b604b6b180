import { setTimeout } from "node:timers/promises";
import type { TaskSelection } from "../../../admin/admin.ts";
import type { Admin } from "../../../admin/operations.ts";
import type { BulkAction, BulkJobShown, BulkOptions } from "../../../admin/task-operations.ts";
import { didYouMean } from "../../arguments/words.ts";
import type { Context } from "../../context.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped, UsageError } from "../../errors.ts";
import type { ManyTasksJson } from "../../output/json-shapes.ts";
import { confirm } from "../../terminal/prompts.ts";
import { Progress } from "../../terminal/text.ts";
import {
  adminFailure,
  type AdminOptions,
  type AdminSession,
  exitCodeOfAdmin,
  withAdmin,
} from "./with-admin.ts";
import { type ManyTasksOptions, type SelectionOptions, selectionOf, selectionText } from "./selection.ts";
import { bulkShown, bulkText } from "./operation-tables.ts";

interface ManyTasks {
  readonly place: string;
  readonly action: BulkAction;
  readonly options: ManyTasksOptions & AdminOptions;
  /** Only for `extend`. */
  readonly until?: number | null | undefined;
}

/** How often to look how far it is (ms). */
const lookEveryMs = 250;

/** `holdfast admin STORE cancel|retry|delete|extend --all`: applies an action to all selected tasks. */
export async function actOnMany(context: Context, command: ManyTasks): Promise<ExitCode> {
  const { output } = context;
  const { place, action, options } = command;
  const { dryRun = false } = options;
  return withAdmin(context, { place, options, endsItself: true }, async (session) => {
    const { acts, admin, interrupts } = session;
    const selection = selectionOf(options, session.now());
    const { job } = await acts().bulk(action, selection, { ...how(command), dryRun: true });
    let shown = await admin.bulkJob(job);
    if (shown.counts.total === 0) await assertKnown(admin, options);
    const isAgreed = dryRun || options.yes === true || (await agrees(context, command, shown, session));
    if (interrupts.signal.aborted)
      throw new Stopped(interruptedBy(interrupts), "Interrupted: nothing was changed");
    if (!isAgreed) throw new UsageError("Nothing was changed.");
    let failure: Error | undefined;
    if (!dryRun) ({ shown, failure } = await follow(context, selection, shown, session));
    const { done, created, refused, counts } = shown;
    const error = failure && { error: failure.message };
    const json: ManyTasksJson = { action, dryRun, job, counts, done, created, refused, ...error };
    const count = dryRun ? shown.counts.open : shown.counts.done;
    const text = `${bulkText(count, action, dryRun ? "would be" : "was")}\n`;
    await output.say({ json, text, notes: bulkShown.note(shown) });
    if (failure !== undefined && !output.json) throw failure;
    if (failure !== undefined) return exitCodeOfAdmin(failure);
    if (interrupts.signal.aborted) return interruptedBy(interrupts);
    return shown.counts.refused > 0 ? exitCodes.failed : exitCodes.done;
  });
}

async function agrees(
  { io, output }: Context,
  { action, options }: ManyTasks,
  { counts }: BulkJobShown,
  { interrupts }: AdminSession,
): Promise<boolean> {
  const what = `${bulkText(counts.open, action, "will be")}: ${selectionText(options)}.`;
  if (!output.json && io.stdin.isTTY && io.stderr.isTTY) return confirm(io, `${what} Continue?`, interrupts);
  if (counts.open <= 1) return true;
  throw new UsageError(
    `Nothing was changed: ${what} Without a terminal, and with --json, that needs --yes. --dry-run only counts the tasks.`,
  );
}

/** Throws a UsageError if a filter names what no task has: a mistyped one would look like success. */
async function assertKnown(admin: Admin, { cause, tool, node }: SelectionOptions): Promise<void> {
  const named = [
    [
      "cause",
      cause,
      (name: string) => ({ cause: name }),
      async () => (await admin.incidents()).map((each) => each.cause),
    ],
    [
      "tool",
      tool,
      (name: string) => ({ tool: name }),
      async () => (await admin.counts()).tools.map((each) => each.tool),
    ],
    [
      "node",
      node,
      (name: string) => ({ owner: name }),
      async () => (await admin.nodes()).map(({ id }) => id),
    ],
  ] as const;
  for (const [option, given, of, read] of named) {
    if (given === undefined) continue;
    const { tasks, next } = await admin.list({ ...of(given), limit: 1 });
    const known = tasks.length > 0 || next !== null ? [given] : await read();
    if (known.includes(given)) continue;
    const list = known.length === 0 ? "There are none." : `There are ${known.slice(0, 20).join(", ")}.`;
    throw new UsageError(
      `--${option}: no stored task has the ${option} ${JSON.stringify(given)}. ${didYouMean(given, known)}${list}`,
    );
  }
}

/** Starts the job and looks how far it is until it is over. An interrupt ends it. */
async function follow(
  { io, output }: Context,
  selection: TaskSelection,
  job: BulkJobShown,
  { acts, admin, interrupts }: AdminSession,
): Promise<{ readonly shown: BulkJobShown; readonly failure?: Error }> {
  using progress = new Progress(io.stderr, !output.json);
  const operator = acts();
  let shown = job;
  let failure: Error | undefined;
  const act = async (): Promise<void> => {
    await operator.bulk(job.action, selection, { job: job.job });
  };
  const acted = act().catch((error: unknown) => void (failure = failureOf(error)));
  for (let isActing = true; failure === undefined && (isActing || shown.endedAt === null);) {
    const rest = setTimeout(lookEveryMs, undefined, { signal: interrupts.signal }).catch(() => undefined);
    isActing = await Promise.race([acted.then(() => false), rest.then(() => true)]);
    if (!isActing && failure === undefined) await rest;
    try {
      if (interrupts.signal.aborted) return { shown: await operator.cancelBulk(job.job) };
      shown = await admin.bulkJob(job.job);
    } catch (error) {
      failure ??= failureOf(error);
    }
    const { done, refused, total } = shown.counts;
    progress.show(
      `${done} of ${bulkText(total, job.action, "was")}${refused > 0 ? `, ${refused} refused` : ""}`,
    );
  }
  return { shown, ...(failure && { failure }) };
}

function failureOf(error: unknown): Error {
  const failure = adminFailure(error);
  return failure instanceof Error ? failure : new Error(String(failure));
}

function how({ until, options }: ManyTasks): BulkOptions {
  const { limit, fromStart } = options;
  return {
    ...(until !== undefined && { until }),
    ...(limit !== undefined && { limit }),
    ...(fromStart === true && { fromStart }),
  };
}
