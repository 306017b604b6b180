import type { Context, TaskOptions } from "../context.ts";
import type { ExitCode } from "../exit-code.ts";
import { hasEnded } from "../../client/task/remote-task.ts";
import { SaveFolder } from "../output/save-folder.ts";
import { taskJson } from "../output/task-json.ts";
import { showDirect, showOutcome } from "./show-outcome.ts";
import { waitForTask } from "./wait-for-task.ts";
import { withTask } from "./with-task.ts";

export interface OutcomeOptions extends TaskOptions {
  /** A folder. */
  readonly save?: string;
  readonly maxChars?: number;
}

interface TaskCommand {
  readonly id: string;
  readonly options: OutcomeOptions;
}

/** `holdfast watch ID`: prints each state until the task has ended, then its result. */
export async function watch(context: Context, command: TaskCommand): Promise<ExitCode> {
  return wait(context, command, true);
}

/** `holdfast result ID`: waits for the result. */
export async function result(context: Context, command: TaskCommand): Promise<ExitCode> {
  return wait(context, command, false);
}

async function wait(context: Context, command: TaskCommand, printsStates: boolean): Promise<ExitCode> {
  const { output, io } = context;
  const folder = await SaveFolder.open(command.options.save, io.cwd);
  return withTask(context, { ...command, sendsAgain: true }, async (session) => {
    const { handle, shown, origin } = session;
    const { maxChars } = command.options;
    // A call that was sent again can be answered directly.
    if (handle.taskId === null)
      return showDirect(await handle.result(), { origin, output, session, folder, maxChars });
    const task = await waitForTask(shown, handle, session, async (state) => {
      if (output.json && printsStates && !hasEnded(state)) {
        await output.printJson(taskJson(state, origin), { line: true });
      }
    });
    return showOutcome(task, { origin, output, session, line: printsStates, folder, maxChars });
  });
}
