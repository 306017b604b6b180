import type { LogLine, OutputPart } from "../../client/task/task-lines.ts";
import type { Context, TaskOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { showContent } from "../output/show-content.ts";
import { withTask } from "./with-task.ts";

export interface LogsOptions extends TaskOptions {
  readonly follow?: true;
  readonly output?: true;
}

/** `holdfast logs ID`: prints what the task's tool has logged, or put out. */
export async function logs(
  context: Context,
  { id, options }: { readonly id: string; readonly options: LogsOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withTask(context, { id, options }, async ({ handle, terminal, signal }) => {
    const how = { signal, follow: options.follow === true };
    const lines: AsyncIterable<LogLine | OutputPart> =
      options.output === true ? handle.output(how) : handle.logs(how);
    for await (const line of lines) {
      terminal.display.end();
      if (output.json) await output.printJson(line, { line: true });
      else await output.print(shown(line));
    }
    terminal.display.end();
    return exitCodes.done;
  });
}

function shown(line: LogLine | OutputPart): string {
  if ("content" in line) return showContent({ content: [line.content] });
  const { at, level, text, data } = line;
  const more = data === undefined ? "" : ` ${JSON.stringify(data)}`;
  return `${at} ${level.padEnd(9)} ${text}${more}\n`;
}
