import type { KnownTask } from "../state/state.ts";
import { duration, fit, sanitizeLine } from "../terminal/text.ts";
import { fittedTable, tabbed, type Column } from "../output/table.ts";
import type { ListedTaskJson } from "../output/json-shapes.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, UsageError, exitCodes } from "../errors.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { listedMs } from "../state/records.ts";
import type { Refreshed, refreshTasks } from "./refresh-tasks.ts";

/** A task of the list. */
interface ListedTask {
  readonly task: KnownTask;
  /** Its server's answer just now, if it was asked. */
  readonly refreshed: Pick<ListedTaskJson, "status" | "statusMessage">;
}

interface TableOptions {
  /** One for each task. */
  readonly numbers: readonly number[];
  /** Epoch milliseconds. */
  readonly now: number;
  /** How wide the terminal is. */
  readonly columns: number | undefined;
}

/** On a terminal of at most this width, long tool names are cut to leave room for the servers. */
const narrow = 100;
const narrowTool = 24;

/** The list for people: each task's number, to refer to it, and its status. */
function taskTable(tasks: readonly ListedTask[], { numbers, now, columns: cells }: TableOptions): string {
  const isNarrow = (cells ?? narrow) <= narrow;
  const rows = tasks.map((listed, at) => ({ ...listed, number: numbers[at] }));
  return fittedTable<(typeof rows)[number]>(
    [
      ["#", 1, ({ number }) => number, "right"],
      ["STATUS", 14, statusText],
      ["AGE", 7, ({ task: { call } }) => duration(now - call.startedAt)],
      [
        "TOOL",
        10,
        ({ task: { call } }) => (isNarrow ? fit(sanitizeLine(call.tool), narrowTool, true) : call.tool),
      ],
      ["SERVER", 16, ({ task }) => task.shown],
    ],
    rows,
    cells ?? narrow,
  );
}

/** The list for programs: whole ids and times, separated by tabs. */
function taskRows(tasks: readonly ListedTask[]): string {
  const rows = tasks.map((listed) => {
    const { id, call, shown } = listed.task;
    const state = statusOf(listed);
    const startedAt = new Date(call.startedAt).toISOString();
    return [id, call.tool, shown, startedAt, ...(state === undefined ? [] : [state])];
  });
  return tabbed(rows);
}

/** The status in a word or two. Distinguishes results that were printed from those that were not. */
function statusText(listed: ListedTask): string {
  const { seen, isOver } = listed.task;
  const status = statusOf(listed) ?? "started";
  const isKnown = listed.refreshed.status === undefined || listed.refreshed.status === seen?.status;
  const text = isKnown && seen?.isError === true ? "error" : status;
  const isUnread = !isOver && ["completed", "failed", "cancelled", "error"].includes(text);
  return isUnread ? `${text}, unread` : text;
}

function statusOf({ task: { call, seen }, refreshed }: ListedTask): string | undefined {
  if (call.taskId === null) return "no answer yet";
  const { status = seen?.status, statusMessage } = refreshed;
  return statusMessage === undefined ? status : `${status}: ${statusMessage}`;
}

/** `holdfast ls`: lists the tasks that were started here, until a week after their end. */
export async function list(context: Context, { options }: Given<"ls">): Promise<ExitCode> {
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
  const isForPeople = !output.json && output.isTerminal;
  const numbers = isForPeople && tasks.length > 0 ? await state.number(tasks) : [];
  return output.say({
    json: { tasks: listed.map(asJson) },
    text: !isForPeople
      ? taskRows(listed)
      : tasks.length === 0
        ? ""
        : taskTable(listed, { numbers, now: io.now(), columns: output.columns }),
    notes: [isForPeople && tasks.length === 0 && emptyText(only?.shown, ofServer.length > 0)],
  });
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

/** `holdfast forget ID…`: removes tasks from the list, for example when their server is gone. */
export async function forget(
  { state, output }: Context,
  { id: ids, options: { lost } }: Given<"forget">,
): Promise<ExitCode> {
  if (ids.length > 0 === (lost === true))
    throw new UsageError("Give the ids of tasks, or --lost for those that their servers do not know.");
  const known: KnownTask[] = [];
  if (lost === true) {
    const { tasks } = await state.list();
    known.push(
      ...tasks.filter(
        ({ seen, isOver }) => !isOver && (seen?.status === "lost" || seen?.status === "expired"),
      ),
    );
  }
  // All are found before one is removed, which could change what another name means.
  for (const id of ids) {
    const found = await state.find(id);
    if (found === undefined)
      throw new UsageError(`There is no task ${JSON.stringify(id)} on your list. See holdfast ls.`);
    known.push(found);
  }
  for (const task of known) await state.forget(task);
  return output.say({
    json: { ids: known.map(({ id }) => id) },
    notes: [
      ...known.map(({ id }) => `forgot ${id}; the task itself was not cancelled`),
      known.length === 0 &&
        "No task on your list is known to be lost. To ask the servers: holdfast ls --refresh",
    ],
  });
}

const searchColumns: readonly Column<{
  readonly name: string;
  readonly server: string;
  readonly about: string;
}>[] = [
  ["TOOL", 12, ({ name }) => name],
  ["SERVER", 12, ({ server }) => server],
  ["ABOUT", 20, ({ about }) => about],
];

/** `holdfast search WORD…`: tools of all servers that commands have listed, without asking any. All words are in the name or the first line. */
export async function search({ output, state }: Context, { words }: Given<"search">): Promise<ExitCode> {
  const wanted = words.map((word) => word.toLowerCase());
  const tools = (await state.knownTools()).filter(({ name, about }) => {
    const text = `${name} ${about}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return output.say({
    json: { tools },
    text: tools.length === 0 ? "" : fittedTable(searchColumns, tools, output.columns),
    notes: [
      tools.length === 0 &&
        "holdfast: no tool that a command has listed has these words. To list those of a server:\n  holdfast tools SERVER",
    ],
    code: tools.length > 0 ? exitCodes.done : exitCodes.errorResult,
  });
}
