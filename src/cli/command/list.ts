import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, ServerOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { ListedTaskJson, ListJson } from "../output/json-shapes.ts";
import { table } from "../output/table.ts";
import { resolveServer } from "../server/find-server.ts";
import type { KnownTask } from "../state/state.ts";
import { Stopped, UsageError } from "../errors.ts";
import { withTask } from "./with-task.ts";

export interface ListOptions extends ServerOptions {
  readonly refresh?: true;
  /** Lists only the tasks of this server. */
  readonly server?: string;
}

/** `holdfast ls`: lists the tasks that were started here and whose outcome was not printed yet. */
export async function list(
  context: Context,
  { options }: { readonly options: ListOptions },
): Promise<ExitCode> {
  const { output, state } = context;
  const { server } = options;
  if (server === undefined && (options.token !== undefined || options.header !== undefined)) {
    throw new UsageError("--token and --header go to one server: say which with --server.");
  }
  const only = server === undefined ? undefined : await resolveServer(context, server, options);
  const { tasks: all, damaged } = await state.list();
  const tasks = only === undefined ? all : all.filter(({ call }) => call.server === only.name);
  for (const file of damaged) output.note(`holdfast: ${file} cannot be read, and is left out`);
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

/** The current status; an unreachable server is a status too, so that the rest is still listed. */
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
    // A server answers the same for a task of another caller.
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
