import type { Context, TaskOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { taskJson } from "../output/task-json.ts";
import { withTask } from "./with-task.ts";

/** `holdfast cancel ID`: asks the server to cancel the task, and prints its state. */
export async function cancel(
  context: Context,
  command: { readonly id: string; readonly options: TaskOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withTask(context, command, async ({ handle, origin, terminal, signal, saw, printed }) => {
    await handle.cancel({ signal });
    const task = await handle.get({ signal });
    saw(handle.reference, task);
    terminal.display.end();
    if (output.json) await output.printJson(taskJson(task, origin));
    else if (task.status === "cancelled") await output.print("cancelled\n");
    else if (task.status === "completed" || task.status === "failed") {
      await output.print(`${task.status}: it had already ended\n`);
    } else
      await output.print(`${task.status}: cancellation was requested, but the task has not stopped yet\n`);
    const { reference } = handle;
    if (task.status === "cancelled" && reference !== null) await printed([reference]);
    return exitCodes.done;
  });
}
