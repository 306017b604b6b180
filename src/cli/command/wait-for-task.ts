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
import { Stopped } from "../stopped.ts";
import { toAnswer } from "../terminal/to-answer.ts";
import { wayBack, type ShownTask } from "../terminal/terminal.ts";
import type { Session } from "../server/with-server.ts";

/** Waits until the task has ended, and resolves with how. Throws `Stopped` where the user, or `--timeout`, gives up. */
export async function waitForTask(
  task: ShownTask,
  handle: TaskHandle,
  { terminal: { display, interrupts, isInteractive }, signal }: Session,
  onTask: (task: RemoteTask) => Promise<void> = async () => undefined,
): Promise<EndedTask> {
  const { taskId, serverEnds } = task;
  display.started(task);
  try {
    return await follow(handle, signal, async (state) => {
      display.update(state);
      await onTask(state);
      if (state.status === "input_required" && serverEnds === true && !isInteractive)
        throw nobodyElseAnswers(state, handle);
    });
  } catch (error) {
    if (error !== signal.reason || error instanceof TaskClientError) throw error;
    if (!interrupts.signal.aborted) {
      throw new Stopped(exitCodes.unfinished, `Timed out. ${wayBack(task)}`, { taskId });
    }
    if ((await interrupts.decide(task)) === "detach") {
      throw new Stopped(interruptedBy(interrupts), `Interrupted. ${wayBack(task)}`, {
        wasTold: true,
        taskId,
      });
    }
    return cancelled(handle, task);
  }
}

/** A server of this command has no other client who could answer: to wait on would be for ever. */
function nobodyElseAnswers(task: InputRequiredTask, { reference }: TaskHandle): TaskClientError {
  const questions = Object.entries(task.inputRequests).map(
    ([key, question]) => `\n  ${describeQuestion(key, question)}`,
  );
  const text = `The task asks, and nobody else can answer while this command has its server. If the server keeps tasks on disk, answer with: ${toAnswer(task.taskId)}${questions.join("")}`;
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
  throw new Error("The task's updates ended before the task did");
}

/** How long a server is waited for that is to cancel a task. */
const cancelMs = 10_000;

/** A cancelled task can still end in another way, which then counts. A third Ctrl-C ends the process meanwhile. */
async function cancelled(handle: TaskHandle, { taskId, comeBack }: ShownTask): Promise<EndedTask> {
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
          `The server is stopping the task; it has not ended yet. See: ${comeBack}`,
          { taskId },
        )
      : new Stopped(
          exitCodes.interrupted,
          `The server has not confirmed the cancel, so the task may go on. See: ${comeBack}`,
          { taskId },
        );
  } finally {
    patience.clear();
  }
}
