import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, ServerOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { ListedTaskJson, ListJson } from "../output/json-shapes.ts";
import { table } from "../output/table.ts";
import { askedServer } from "../server/asked-server.ts";
import type { KnownTask } from "../state/state.ts";
import { Stopped } from "../stopped.ts";
import { UsageError } from "../usage-error.ts";
import { withTask } from "./with-task.ts";

export interface ListOptions extends ServerOptions {
  readonly refresh?: true;
  /** SERVER, whose tasks alone are listed. */
  readonly server?: string;
}

/** `holdfast ls`: the tasks that were started here and whose end nobody saw. */
export async function list(
  context: Context,
  { options }: { readonly options: ListOptions },
): Promise<ExitCode> {
  const { output, state } = context;
  const { server } = options;
  if (server === undefined && (options.token !== undefined || options.header !== undefined)) {
    throw new UsageError("--token and --header go to one server: say which with --server.");
  }
  const only = server === undefined ? undefined : await askedServer(context, server, options);
  const { tasks: all, damaged } = await state.list();
  const tasks = only === undefined ? all : all.filter(({ call }) => call.server === only.name);
  for (const file of damaged) output.tell(`holdfast: ${file} cannot be read, and is left out`);
  const listed: ListedTaskJson[] = [];
  for (const task of tasks) {
    listed.push({
      ...asListed(task),
      ...(options.refresh === true && (await refreshed(task, context, options))),
    });
  }
  if (output.json) {
    const document: ListJson = { tasks: listed };
    await output.printJson(document);
  } else await output.print(table(listed.map(row), output.isTerminal));
  return exitCodes.done;
}

function asListed({ id, call, server }: KnownTask): ListedTaskJson {
  const { taskId, tool, startedAt } = call;
  return {
    id,
    isTask: taskId !== null,
    server: server?.given ?? call.server,
    tool,
    startedAt: new Date(startedAt).toISOString(),
  };
}

/** A server that cannot be reached keeps nobody from seeing the rest. */
async function refreshed(
  { id, call }: KnownTask,
  context: Context,
  options: ListOptions,
): Promise<Pick<ListedTaskJson, "status" | "statusMessage">> {
  if (call.taskId === null) return {};
  const isOneOfSeveral = options.server === undefined;
  try {
    return await withTask(
      context,
      { id, options: { ...options, isOneOfSeveral } },
      async ({ handle, signal }) => {
        const { status, statusMessage } = await handle.get({ signal });
        return { status, ...(statusMessage !== undefined && { statusMessage }) };
      },
    );
  } catch (error) {
    if (error instanceof Stopped) throw error;
    if (!(error instanceof TaskClientError)) return { status: "unreachable" };
    if (error.code === "unauthorized") return { status: "unauthorized" };
    if (error.code !== "unknown_task" && error.code !== "expired") return { status: "unreachable" };
    // A server says the same of a task that it does not show to this caller.
    const { expiresAt = Infinity } = call;
    return { status: error.code === "expired" || expiresAt <= context.io.now() ? "expired" : "unknown" };
  }
}

function row({
  id,
  isTask,
  server,
  tool,
  startedAt,
  status,
  statusMessage,
}: ListedTaskJson): readonly string[] {
  const state = isTask ? status : "no answer yet";
  const states =
    state === undefined ? [] : [statusMessage === undefined ? state : `${state}: ${statusMessage}`];
  return [id, tool, server, startedAt, ...states];
}
