import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { TaskClientError } from "../../client/task-client-error.ts";
import { exportJournal, type StoredTasks } from "../../store/export-journal.ts";
import { readStore } from "../../store/from-url.ts";
import { HoldfastError, type FaultCode } from "../../task/fault.ts";
import { type TaskRecord, versionOf } from "../../task/record.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { encryptionKeys, recordCopy } from "./admin/with-admin.ts";
import { type Column, fittedTable } from "../output/table.ts";

/** The error codes for a store, or a task in it, that cannot be read. */
const unusable: ReadonlySet<FaultCode> = new Set(["store_url", "store_unusable", "task_unreadable"]);

const tasksPerPage = 500;

const columns: readonly Column<ReturnType<typeof asListed>>[] = [
  ["TASK", Number.POSITIVE_INFINITY, ({ id }) => id],
  ["TOOL", 8, ({ tool }) => tool],
  ["VERSION", 9, ({ toolVersion }) => (toolVersion === null ? "not started" : `version ${toolVersion}`)],
  ["STATE", 5, ({ state, waiting }) => (waiting ? "waits" : state)],
  ["CREATED", 10, ({ createdAt }) => createdAt],
];

/** `holdfast journal ls STORE`: lists the unfinished tasks of a server's store, with the versions of their tools. */
export async function listStored({ io, output }: Context, { store }: Given<"journal ls">): Promise<ExitCode> {
  const records = await readTasks(io, store, unfinished);
  const tasks = records.map(asListed);
  return output.say({
    json: { tasks },
    text: tasks.length === 0 ? "" : fittedTable(columns, tasks, output.columns),
  });
}

/** `holdfast journal export STORE ID`: prints what the store has of a task, as input for `checkReplay`. */
export async function exportTask(
  context: Context,
  { store, id, options }: Given<"journal export">,
): Promise<ExitCode> {
  const { io, output } = context;
  const recording = await readTasks(io, store, (tasks) => exportJournal(tasks, id));
  const { principal } = recording;
  const { exportBegins } = await import("../../admin/store-care.ts");
  const unrecorded = await recordCopy(context, store, (to) => exportBegins(to, { id, principal }));
  if (unrecorded !== undefined) output.note(unrecorded);
  // Indented for people and version control.
  const text = `${JSON.stringify(recording, undefined, 2)}\n`;
  if (options.output === undefined) await output.print(text);
  else await writeFile(resolve(io.cwd, options.output), text);
  return exitCodes.done;
}

async function readTasks<T>(io: Io, store: string, read: (tasks: StoredTasks) => Promise<T>): Promise<T> {
  try {
    return await readStore(store, (path) => resolve(io.cwd, path), read, encryptionKeys(io));
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.code === "unknown_task")
      throw new TaskClientError("unknown_task", error.message, { cause: error });
    if (unusable.has(error.code)) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

async function unfinished(tasks: StoredTasks): Promise<readonly TaskRecord[]> {
  const found: TaskRecord[] = [];
  for (let after = ""; ;) {
    const page = await tasks.unfinished(after, tasksPerPage);
    found.push(...page);
    if (page.length < tasksPerPage) return found;
    after = page.at(-1)?.id ?? "";
  }
}

function asListed(task: TaskRecord) {
  const { id, tool, startedAt, state, waiting, createdAt } = task;
  const toolVersion = startedAt === null ? null : versionOf(task);
  return { id, tool, toolVersion, state, waiting, createdAt: new Date(createdAt).toISOString() };
}
