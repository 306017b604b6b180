import { describeRpcError } from "../../client/reply/reply.ts";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { EndedTask } from "../../client/task/remote-task.ts";
import { isExpiredError } from "../../task/outcome.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { Output } from "../output/output.ts";
import { urlsToVisit } from "../output/url-elicitations.ts";
import { linksOf, saveContent, type SavedContent } from "../output/save-content.ts";
import type { SaveFolder } from "../output/save-folder.ts";
import { showContent } from "../output/show-content.ts";
import { showResultFor } from "../output/show-structured.ts";
import { directJson, taskJson, type TaskOrigin } from "../output/task-json.ts";
import type { Session } from "../server/with-server.ts";

interface ShowOptions {
  readonly origin: TaskOrigin;
  readonly output: Output;
  readonly session: Session;
  /** Whether it is one of several JSON documents, one per line. */
  readonly line?: boolean;
  /** The folder for the result's files. */
  readonly folder?: SaveFolder | undefined;
  /** How many characters to print. Default: all. */
  readonly maxChars?: number | undefined;
}

/** Prints the outcome of a task, and returns the exit code. Removes the task from the list, unless something could not be saved. */
export async function showOutcome(task: EndedTask, options: ShowOptions): Promise<ExitCode> {
  const { origin, output, session, line = false } = options;
  session.terminal.display.end();
  const files = task.status === "completed" ? await savedFrom(task.result, options) : undefined;
  if (output.json) await output.printJson({ ...taskJson(task, origin), ...savedJson(files) }, { line });
  const code = await showEnd(task, options, files);
  if (files === undefined || files.problems.length === 0) await session.printed();
  return code;
}

/** The same for a call that was answered directly. */
export async function showDirect(result: CallToolResult, options: ShowOptions): Promise<ExitCode> {
  const { origin, output, session } = options;
  session.terminal.display.end();
  const files = await savedFrom(result, options);
  if (output.json) await output.printJson({ ...directJson(result, origin), ...savedJson(files) });
  return showResult(result, options, files);
}

async function savedFrom(
  { content }: CallToolResult,
  { folder, session: { client, signal } }: ShowOptions,
): Promise<SavedContent | undefined> {
  if (folder === undefined) return undefined;
  return saveContent(content, folder, linksOf(client, signal));
}

function savedJson(files: SavedContent | undefined): { readonly saved?: readonly string[] } {
  return files === undefined ? {} : { saved: files.saved };
}

async function showEnd(
  task: EndedTask,
  options: ShowOptions,
  files: SavedContent | undefined,
): Promise<ExitCode> {
  const { output } = options;
  switch (task.status) {
    case "completed":
      return showResult(task.result, options, files);
    case "failed":
      if (!output.json)
        output.note(`holdfast: failed: ${describeRpcError(task.error)}${urlsToVisit(task.error)}`);
      return isExpiredError(task.error) ? exitCodes.expired : exitCodes.failed;
    case "cancelled":
      if (!output.json) output.note("holdfast: cancelled");
      return exitCodes.cancelled;
  }
}

async function showResult(
  result: CallToolResult,
  options: ShowOptions,
  files: SavedContent | undefined,
): Promise<ExitCode> {
  const { output } = options;
  if (!output.json) await printResult(result, options, files);
  for (const problem of files?.problems ?? []) output.note(`holdfast: ${problem}`);
  if (result.isError === true) return exitCodes.errorResult;
  return files === undefined || files.problems.length === 0 ? exitCodes.done : exitCodes.failed;
}

async function printResult(
  result: CallToolResult,
  { output, maxChars }: ShowOptions,
  files: SavedContent | undefined,
): Promise<void> {
  if (files !== undefined && result.content.length > 0) return output.print(files.text);
  const { columns } = output;
  if (columns === undefined) return output.printUpTo(maxChars, showContent(result));
  const { text, isCut } = showResultFor(result, columns);
  await output.printUpTo(maxChars, text);
  if (isCut) output.note("holdfast: cut to the terminal's width; --json prints all of it");
}
