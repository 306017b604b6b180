import type { CallToolResult } from "@modelcontextprotocol/client";
import type { EndedTask } from "../../client/task/remote-task.ts";
import { isExpiredError } from "../../task/expired-error.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { Output } from "../output/output.ts";
import { urlsToVisit } from "../output/url-elicitations.ts";
import { showContent } from "../output/show-content.ts";
import { directJson, taskJson, type TaskOrigin } from "../output/task-json.ts";
import type { Session } from "../server/with-server.ts";

interface ShowOptions {
  readonly origin: TaskOrigin;
  readonly output: Output;
  readonly session: Session;
  /** Whether it is one of several JSON documents, each on a line. */
  readonly line?: boolean;
}

/** Prints the outcome of a task, removes the task from the list, and returns the exit code. */
export async function showOutcome(
  task: EndedTask,
  { origin, output, session, line = false }: ShowOptions,
): Promise<ExitCode> {
  session.terminal.display.end();
  if (output.json) await output.printJson(taskJson(task, origin), { line });
  const code = await showEnd(task, output);
  await session.printed();
  return code;
}

/** The same for a call that was answered directly. */
export async function showDirect(
  result: CallToolResult,
  { origin, output, session }: ShowOptions,
): Promise<ExitCode> {
  session.terminal.display.end();
  if (output.json) await output.printJson(directJson(result, origin));
  return showResult(result, output);
}

async function showEnd(task: EndedTask, output: Output): Promise<ExitCode> {
  switch (task.status) {
    case "completed":
      return showResult(task.result, output);
    case "failed": {
      const { message, code } = task.error;
      if (!output.json) output.note(`holdfast: failed: ${message} (${code})${urlsToVisit(task.error)}`);
      return isExpiredError(task.error) ? exitCodes.expired : exitCodes.failed;
    }
    case "cancelled":
      if (!output.json) output.note("holdfast: cancelled");
      return exitCodes.cancelled;
  }
}

async function showResult(result: CallToolResult, output: Output): Promise<ExitCode> {
  if (!output.json) await output.print(showContent(result));
  return result.isError === true ? exitCodes.errorResult : exitCodes.done;
}
