import type { Context, ServerOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { ListedTaskJson, ListJson } from "../output/json-shapes.ts";
import { taskRows, taskTable, type ListedTask } from "../output/task-list.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { listedMs } from "../state/seen-tasks.ts";
import type { KnownTask } from "../state/state.ts";
import { UsageError } from "../errors.ts";
import type { Refreshed, refreshTasks } from "./refresh-tasks.ts";

export interface ListOptions extends ServerOptions {
  /** Lists also those that ended more than a week ago, and with `--json` all that have ended. */
  readonly all?: true;
  readonly refresh?: true;
  /** How long each server may take with `refresh`, in seconds. */
  readonly timeout?: number;
  /** Lists only the tasks of this server. */
  readonly server?: string;
}

/** `holdfast ls`: lists the tasks that were started here, until a week after their end. */
export async function list(
  context: Context,
  { options }: { readonly options: ListOptions },
): Promise<ExitCode> {
  const { output, state, io } = context;
  const { server } = options;
  if (server === undefined && (options.token !== undefined || options.header !== undefined)) {
    throw new UsageError("--token and --header go to one server: say which with --server.");
  }
  const only = server === undefined ? undefined : await resolveServer(context, server, options);
  const { tasks: all, damaged } = await state.list();
  const ofServer = only === undefined ? all : all.filter(({ call }) => call.server === only.name);
  const tasks = ofServer.filter((task) =>
    isListed(task, { all: options.all === true, output, now: io.now() }),
  );
  for (const file of damaged) output.note(`holdfast: ${file} cannot be read and was left out`);
  const asked = tasks.filter(({ call, isOver }) => !isOver && call.taskId !== null);
  const refreshed =
    options.refresh === true && asked.length > 0
      ? await refresh(context, asked, { ...options, isOneOfSeveral: server === undefined })
      : new Map<KnownTask, Refreshed>();
  const listed = tasks.map((task): ListedTask => ({ task, refreshed: refreshed.get(task) ?? {} }));
  if (output.json) {
    const document: ListJson = { tasks: listed.map(asJson) };
    await output.printJson(document);
  } else if (!output.isTerminal) await output.print(taskRows(listed));
  else if (tasks.length === 0) output.note(emptyText(only?.shown, ofServer.length > 0));
  else
    await output.print(
      taskTable(listed, { numbers: await state.number(tasks), now: io.now(), columns: output.columns }),
    );
  return exitCodes.done;
}

/** Loads the client, without which lists are fast. */
async function refresh(...args: Parameters<typeof refreshTasks>): Promise<ReadonlyMap<KnownTask, Refreshed>> {
  const module = await import("./refresh-tasks.ts");
  return module.refreshTasks(...args);
}

interface Selection {
  readonly all: boolean;
  readonly output: Context["output"];
  readonly now: number;
}

/** Programs that read JSON get finished tasks only if they ask for all. */
function isListed({ isOver, seen }: KnownTask, { all, output, now }: Selection): boolean {
  if (!isOver || all) return true;
  return !output.json && seen !== undefined && seen.at + listedMs > now;
}

function emptyText(server: string | undefined, hasOlder: boolean): string {
  if (hasOlder)
    return "No tasks are running, and none ended in the last week. For older ones: holdfast ls --all";
  if (server !== undefined) return `No tasks of ${server} were started here.`;
  return "No tasks. A call that takes a while becomes a task and is listed here:\n  holdfast call SERVER TOOL key=value --detach";
}

function asJson({ task: { id, call, shown, seen, isOver }, refreshed: now }: ListedTask): ListedTaskJson {
  const { taskId, tool, startedAt } = call;
  return {
    id,
    isTask: taskId !== null,
    server: shown,
    tool,
    startedAt: new Date(startedAt).toISOString(),
    ...(isOver && seen !== undefined ? { status: seen.status, isOver: true } : now),
  };
}
