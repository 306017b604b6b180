import type { LogLine, OutputPart } from "../../client/task/task-requests.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, TaskOptions } from "../context.ts";
import { Stopped } from "../errors.ts";
import { exitCodes, interruptedBy, type ExitCode } from "../exit-code.ts";
import { showContent } from "../output/show-content.ts";
import { howToResume } from "../terminal/terminal.ts";
import { withTask, type TaskSession } from "./with-task.ts";

export interface LogsOptions extends TaskOptions {
  readonly follow?: true;
  readonly output?: true;
}

/** `holdfast logs ID`: prints the log or the output of the task. */
export async function logs(
  context: Context,
  { id, options }: { readonly id: string; readonly options: LogsOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withTask(context, { id, options }, async (session) => {
    const { handle, terminal, signal, saw, shown } = session;
    const { display } = terminal;
    const follow = options.follow === true;
    const how = { signal, follow };
    const lines: AsyncIterable<LogLine | OutputPart> =
      options.output === true ? handle.output(how) : handle.logs(how);
    display.about(shown.tool);
    try {
      for await (const line of lines) {
        using _room = display.suspend();
        if (output.json) await output.printJson(line, { line: true });
        else await output.print(textOf(line));
      }
    } catch (error) {
      throw error === signal.reason && !(error instanceof TaskClientError) ? stopped(session) : error;
    }
    // All lines are printed; the task's end is only reported in addition.
    const task = follow ? await handle.get({ signal }).catch(() => undefined) : undefined;
    if (task !== undefined) {
      saw(handle.reference, task);
      display.update(task);
    }
    display.end();
    return exitCodes.done;
  });
}

/** Ctrl-C ends reading at once, and never the task. */
function stopped({ terminal: { interrupts }, shown }: TaskSession): Stopped {
  const { taskId } = shown;
  const resume = howToResume(shown);
  return interrupts.signal.aborted
    ? new Stopped(interruptedBy(interrupts), `Interrupted. ${resume}`, { taskId })
    : new Stopped(exitCodes.unfinished, `Timed out. ${resume}`, { taskId });
}

function textOf(line: LogLine | OutputPart): string {
  if ("content" in line) return showContent({ content: [line.content] });
  const { at, level, text, data } = line;
  const more = data === undefined ? "" : ` ${JSON.stringify(data)}`;
  return `${at} ${level.padEnd(9)} ${text}${more}\n`;
}
