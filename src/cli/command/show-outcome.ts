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
import { describeQuestion } from "./describe-question.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped } from "../errors.ts";
import { answerCommand } from "../arguments/words.ts";
import { howToResume, type ShownTask } from "../terminal/terminal.ts";
import type { Session } from "../server/with-server.ts";
import { describeRpcError } from "../../client/reply/reply.ts";
import { isExpiredError } from "../../task/outcome.ts";
import type { Output } from "../output/output.ts";
import { urlsToVisit } from "../output/report-failure.ts";
import { linksOf, saveContent, type SavedContent, type SaveFolder } from "../output/save-content.ts";
import { showContent, showResultFor } from "../output/show-content.ts";
import { directJson, taskJson, type TaskOrigin } from "../output/task-json.ts";

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
