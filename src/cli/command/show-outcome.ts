import type { CallToolResult } from "@modelcontextprotocol/client";
import type { EndedTask } from "../../client/task/remote-task.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { Output } from "../output/output.ts";
import { showContent } from "../output/show-content.ts";
import { sanitizeText } from "../terminal/sanitize.ts";
import type { Display } from "../terminal/terminal.ts";

interface ShowOptions {
  readonly display: Display;
  readonly output: Output;
}

/** Prints how a task ended, but for `--json`, and gives the code that says the same. */
export async function showOutcome(task: EndedTask, { display, output }: ShowOptions): Promise<ExitCode> {
  switch (task.status) {
    case "completed":
      return showResult(task.result, { display, output });
    case "failed": {
      const { message, code } = task.error;
      display.end();
      if (!output.json) output.tell(`holdfast: failed: ${sanitizeText(message)} (${code})`);
      return exitCodes.failed;
    }
    case "cancelled":
      display.end();
      if (!output.json) output.tell("holdfast: cancelled");
      return exitCodes.cancelled;
  }
}

export async function showResult(
  result: CallToolResult,
  { display, output }: ShowOptions,
): Promise<ExitCode> {
  const isError = result.isError === true;
  display.end();
  if (!output.json) await output.print(showContent(result));
  return isError ? exitCodes.errorResult : exitCodes.done;
}
