import type { CallToolResult } from "@modelcontextprotocol/client";
import { systemClock } from "../../client/clock.ts";
import {
  type EndedTask,
  hasEnded,
  type InputRequiredTask,
  type RemoteTask,
} from "../../client/task/remote-task.ts";
import type { TaskHandle } from "../../client/task/task-handle.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { describeQuestion } from "../terminal/form/question-text.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped } from "../errors.ts";
import { answerCommand } from "../arguments/words.ts";
import { howToResume, type ShownTask } from "../terminal/terminal.ts";
import type { Session } from "../server/with-server.ts";
import { describeRpcError } from "../../client/reply/reply.ts";
import { isExpiredError } from "../../task/outcome.ts";
import type { Output, Said } from "../output/output.ts";
import { dataOf, urlsToVisit } from "../output/output.ts";
import { linksOf, saveContent, type SaveFolder } from "../output/save-content.ts";
import { showContent, showResultFor } from "../output/show-content.ts";
import { directJson, taskJson, type TaskOrigin } from "../output/json-shapes.ts";

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
  const { origin, output, session, line } = options;
  session.terminal.display.end();
  const { json, ...said } = await endOf(task, options);
  const code = await output.say({ ...said, json: { ...taskJson(task, origin), ...json }, line });
  if ((said.warnings ?? []).length === 0) await session.printed();
  return code;
}

/** The same for a call that was answered directly. */
export async function showDirect(result: CallToolResult, options: ShowOptions): Promise<ExitCode> {
  const { origin, output, session } = options;
  session.terminal.display.end();
  const { json, ...said } = await resultOf(result, options);
  return output.say({ ...said, json: { ...directJson(result, origin), ...json } });
}

async function endOf(task: EndedTask, options: ShowOptions): Promise<Said> {
  if (task.status === "completed") return resultOf(task.result, options);
  if (task.status === "cancelled")
    return { json: {}, notes: ["holdfast: cancelled"], code: exitCodes.cancelled };
  const { error } = task;
  return {
    json: {},
    notes: [`holdfast: failed: ${describeRpcError(error)}${urlsToVisit(error)}${dataOf(error)}`],
    code: isExpiredError(error) ? exitCodes.expired : exitCodes.failed,
  };
}

/** The result, with warnings about what could not be saved. */
async function resultOf(
  result: CallToolResult,
  { output, session: { client, signal }, folder, maxChars }: ShowOptions,
): Promise<Said> {
  const files = folder && (await saveContent(result.content, folder, linksOf(client, signal)));
  const isSaved = files !== undefined && result.content.length > 0;
  const { columns } = output;
  const { text, isCut } = isSaved
    ? { text: files.text, isCut: false }
    : columns === undefined
      ? { text: showContent(result), isCut: false }
      : showResultFor(result, columns);
  const problems = files?.problems ?? [];
  return {
    json: files === undefined ? {} : { saved: files.saved },
    text,
    ...(!isSaved && { maxChars }),
    notes: [isCut && "holdfast: cut to the terminal's width; --json prints all of it"],
    warnings: problems.map((problem) => `holdfast: ${problem}`),
    code:
      result.isError === true
        ? exitCodes.errorResult
        : problems.length === 0
          ? exitCodes.done
          : exitCodes.failed,
  };
}
