import { systemClock } from "../../client/clock.ts";
import {
  hasEnded,
  type EndedTask,
  type InputRequiredTask,
  type RemoteTask,
} from "../../client/task/remote-task.ts";
import type { TaskHandle } from "../../client/task/task-handle.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { describeQuestion } from "./describe-question.ts";
import { exitCodes, interruptedBy } from "../exit-code.ts";
import { Stopped } from "../errors.ts";
import { answerCommand } from "../output/suggested-commands.ts";
import { howToResume, type ShownTask } from "../terminal/terminal.ts";
import type { Session } from "../server/with-server.ts";

/** Waits until the task has ended. Throws `Stopped` if the user or `--timeout` ends the wait. */
export async function waitForTask(
  task: ShownTask,
  handle: TaskHandle,
  { terminal: { display, interrupts, isInteractive }, signal, saw }: Session,
  onTask: (task: RemoteTask) => Promise<void> = async () => undefined,
): Promise<EndedTask> {
  const { taskId, serverEnds } = task;
  display.started(task);
  try {
    return await follow(handle, signal, async (state) => {
      display.update(state);
      saw(handle.reference, state);
      await onTask(state);
      if (state.status === "input_required" && serverEnds === true && !isInteractive)
        throw nobodyElseAnswers(state, handle, task);
    });
  } catch (error) {
    if (error !== signal.reason || error instanceof TaskClientError) throw error;
    if (!interrupts.signal.aborted) {
      throw new Stopped(exitCodes.unfinished, `Timed out. ${howToResume(task)}`, { taskId });
    }
    if ((await interrupts.decide(task)) === "detach") {
      throw new Stopped(interruptedBy(interrupts), `Interrupted. ${howToResume(task)}`, {
        wasShown: true,
        taskId,
      });
    }
    const ended = await cancelled(handle, task);
    saw(handle.reference, ended);
    return ended;
  }
}

/** If the server is a process of this command, no other client could answer, so the wait would never end. */
function nobodyElseAnswers(
  task: InputRequiredTask,
  { reference }: TaskHandle,
  { tool = task.tool }: ShownTask,
): TaskClientError {
  const questions = Object.entries(task.inputRequests).map(
    ([key, question]) => `\n  ${describeQuestion(key, question)}`,
  );
  const text = `The task${tool === undefined ? "" : ` of the tool ${tool}`} asks a question, and nobody else can answer it while this command runs its server. If the server keeps tasks on disk, answer with: ${answerCommand(task.taskId)}${questions.join("")}`;
  return new TaskClientError("unanswered", text, { reference: reference ?? undefined });
}

async function follow(
  handle: TaskHandle,
  signal: AbortSignal | undefined,
  onTask: (task: RemoteTask) => Promise<void>,
): Promise<EndedTask> {
  for await (const state of handle.updates(signal && { signal })) {
    await onTask(state);
    if (hasEnded(state)) return state;
  }
  throw new Error("The server stopped reporting on the task before it ended");
}

/** How long to wait for the server to cancel a task. */
const cancelMs = 10_000;

/** Cancels the task and waits until it ends, in whichever way. Meanwhile, a third Ctrl-C ends the process. */
async function cancelled(handle: TaskHandle, { taskId, watchCommand }: ShownTask): Promise<EndedTask> {
  const patience = systemClock.deadline(cancelMs);
  const { signal } = patience;
  let acknowledged = false;
  try {
    await handle.cancel({ signal });
    acknowledged = true;
    return await follow(handle, signal, async () => undefined);
  } catch (error) {
    if (error !== signal.reason) throw error;
    throw acknowledged
      ? new Stopped(
          exitCodes.cancelled,
          `The server is stopping the task, but it has not ended yet. Follow it with: ${watchCommand}`,
          { taskId },
        )
      : new Stopped(
          exitCodes.interrupted,
          `The server has not confirmed the cancellation, so the task may continue. Follow it with: ${watchCommand}`,
          { taskId },
        );
  } finally {
    patience.clear();
  }
}
