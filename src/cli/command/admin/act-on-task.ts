import type { RetryOptions, TaskSummary } from "../../../admin/admin.ts";
import { parseExactJson } from "../../arguments/exact-json.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../errors.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { findTask } from "./find-task.ts";
import { withAdmin, type AdminOptions, type AdminSession } from "./with-admin.ts";

/** What a command does to one task. */
interface OneTask {
  readonly place: string;
  readonly id: string;
  readonly options: AdminOptions;
}

/** `holdfast admin STORE cancel ID` */
export async function cancelTask(context: Context, command: OneTask): Promise<ExitCode> {
  return actOn(context, command, async (id, { acts }) => ({
    task: await acts().cancel(id),
    report: `cancelled ${id}`,
  }));
}

export interface RetryTaskOptions extends AdminOptions {
  readonly arguments?: string;
  readonly keepUpTo?: string;
  readonly fromStart?: true;
}

/** `holdfast admin STORE retry ID`: prints the new task. */
export async function retryTask(
  context: Context,
  command: OneTask & { readonly options: RetryTaskOptions },
): Promise<ExitCode> {
  const { arguments: given, keepUpTo, fromStart } = command.options;
  if (keepUpTo !== undefined && fromStart === true)
    throw new UsageError("Give --keep-up-to or --from-start, not both.");
  const how: RetryOptions = {
    ...(given !== undefined && { arguments: json("--arguments", given) }),
    ...(keepUpTo !== undefined && { keepUpTo }),
    ...(fromStart === true && { fromStart }),
  };
  return actOn(context, command, async (id, { acts }) => {
    const task = await acts().retry(id, how);
    return { task, report: `${id} runs again as ${task.id}` };
  });
}

/** `holdfast admin STORE extend ID TIME` */
export async function extendTask(
  context: Context,
  command: OneTask & { readonly until: number | null },
): Promise<ExitCode> {
  const { until } = command;
  return actOn(context, command, async (id, { acts }) => {
    const task = await acts().extend(id, until);
    return { task, report: `extended ${id}` };
  });
}

/** `holdfast admin STORE delete ID` */
export async function deleteTask(context: Context, command: OneTask): Promise<ExitCode> {
  return actOn(context, command, async (id, { acts }) => {
    await acts().delete(id);
    return { task: { id }, report: `deleted ${id}` };
  });
}

/** Prints the task after the action, or what was done. */
export async function actOn(
  context: Context,
  { place, id: given, options }: OneTask,
  act: (
    id: string,
    session: AdminSession,
  ) => Promise<{ readonly task: TaskSummary | { readonly id: string }; readonly report: string }>,
): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options }, async (session) => {
    const { task, report } = await act(await findTask(session.admin, given), session);
    if (output.json) await output.printJson(task);
    else await output.print(`${report}\n`);
    return exitCodes.done;
  });
}

/** The JSON of an option or argument. Throws a UsageError. */
export function json(what: string, text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${what} takes JSON, which ${JSON.stringify(text)} is not.`);
  }
}
