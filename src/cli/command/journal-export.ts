import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { TaskClientError } from "../../client/task-client-error.ts";
import { exportJournal, type JournalRecording } from "../../store/export-journal.ts";
import { fileOfStore } from "../../store/from-url.ts";
import { readDatabase } from "../../store/sqlite/read-database.ts";
import { HoldfastError, type FaultCode } from "../../task/fault.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { UsageError } from "../errors.ts";

export interface ExportOptions {
  /** The file to write to, instead of stdout. */
  readonly output?: string;
}

/** Those of a store that cannot be read, or of a task in it. */
const unusable: ReadonlySet<FaultCode> = new Set(["store_url", "store_unusable", "task_unreadable"]);

/** `holdfast journal export STORE ID`: prints what is stored of a task, which `checkReplay` takes. */
export async function exportTask(
  { io, output }: Context,
  command: { readonly store: string; readonly id: string; readonly options: ExportOptions },
): Promise<ExitCode> {
  const recording = await read(io.cwd, command.store, command.id);
  // For people and version control, and so not on one line.
  const text = `${JSON.stringify(recording, undefined, 2)}\n`;
  const { output: file } = command.options;
  if (file === undefined) await output.print(text);
  else await writeFile(resolve(io.cwd, file), text);
  return exitCodes.done;
}

async function read(cwd: string, store: string, id: string): Promise<JournalRecording> {
  try {
    return await readDatabase(resolve(cwd, fileOfStore(store)), (tasks) => exportJournal(tasks, id));
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.code === "unknown_task")
      throw new TaskClientError("unknown_task", error.message, { taskId: id });
    if (unusable.has(error.code)) throw new UsageError(error.message);
    throw error;
  }
}
