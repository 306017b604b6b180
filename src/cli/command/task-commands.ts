import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { describeRpcError } from "../../client/reply/reply.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped } from "../errors.ts";
import { taskJson, type TaskOrigin } from "../output/task-json.ts";
import { describeQuestion } from "../terminal/form/question-text.ts";
import { type TaskSession, withTask } from "./with-task.ts";
import type { LogLine, OutputPart } from "../../client/task/task-requests.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { showContent } from "../output/show-content.ts";
import { howToResume } from "../terminal/terminal.ts";
import { SaveFolder } from "../output/save-content.ts";
import { showDirect, showOutcome, waitForTask } from "./show-outcome.ts";

/** `holdfast get ID`: prints the task's current state. */
export async function get(context: Context, command: Given<"get">): Promise<ExitCode> {
  const { output } = context;
  return withTask(context, command, async ({ handle, origin, terminal, signal, saw }) => {
    const task = await handle.get({ signal });
    saw(handle.reference, task);
    terminal.display.end();
    return output.say({ json: taskJson(task, origin), text: taskLines(task, origin) });
  });
}

function taskLines(task: RemoteTask, { server, tool = task.tool }: TaskOrigin): string {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = task;
  const questions = task.status === "input_required" ? Object.entries(task.inputRequests) : [];
  const all: readonly (readonly [string, string | undefined])[] = [
    ["id", taskId],
    ["server", server],
    ["tool", tool],
    ["status", statusMessage === undefined ? status : `${status}: ${statusMessage}`],
    ["created", createdAt],
    ["updated", lastUpdatedAt],
    ["kept until", ttlMs === null ? "no limit" : endOf(createdAt, ttlMs)],
    ...questions.map(([key, question]) => ["question", describeQuestion(key, question)] as const),
    ["error", task.status === "failed" ? describeRpcError(task.error) : undefined],
  ];
  return all.map(([name, text]) => (text === undefined ? "" : `${name.padEnd(11)} ${text}\n`)).join("");
}

function endOf(createdAt: string, ttlMs: number): string | undefined {
  const end = Date.parse(createdAt) + ttlMs;
  return Math.abs(end) <= 8.64e15 ? new Date(end).toISOString() : undefined;
}

/** `holdfast cancel ID`: asks the server to cancel the task, and prints its state. */
export async function cancel(context: Context, command: Given<"cancel">): Promise<ExitCode> {
  const { output } = context;
  return withTask(context, command, async ({ handle, origin, terminal, signal, saw, printed }) => {
    await handle.cancel({ signal });
    const task = await handle.get({ signal });
    saw(handle.reference, task);
    terminal.display.end();
    const { status } = task;
    const more = hasEnded(task)
      ? ": it had already ended"
      : ": cancellation was requested, but the task has not stopped yet";
    const text = `${status}${status === "cancelled" ? "" : more}\n`;
    const code = await output.say({ json: taskJson(task, origin), text });
    const { reference } = handle;
    if (status === "cancelled" && reference !== null) await printed([reference]);
    return code;
  });
}

/** `holdfast logs ID`: prints the log or the output of the task. */
export async function logs(context: Context, { id, options }: Given<"logs">): Promise<ExitCode> {
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
        await output.say({ json: line, line: true, text: textOf(line) });
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

/** `holdfast watch ID`: prints each state until the task has ended, then its result. */
export async function watch(context: Context, command: Given<"watch">): Promise<ExitCode> {
  return wait(context, command, true);
}

/** `holdfast result ID`: waits for the result. */
export async function result(context: Context, command: Given<"result">): Promise<ExitCode> {
  return wait(context, command, false);
}

async function wait(context: Context, command: Given<"result">, printsStates: boolean): Promise<ExitCode> {
  const { output, io } = context;
  const folder = await SaveFolder.open(command.options.save, io.cwd);
  return withTask(context, { ...command, sendsAgain: true }, async (session) => {
    const { handle, shown, origin } = session;
    const { maxChars } = command.options;
    // A call that was sent again can be answered directly.
    if (handle.taskId === null)
      return showDirect(await handle.result(), { origin, output, session, folder, maxChars });
    const task = await waitForTask(shown, handle, session, async (state) => {
      if (printsStates && !hasEnded(state)) await output.say({ json: taskJson(state, origin), line: true });
    });
    return showOutcome(task, { origin, output, session, line: printsStates, folder, maxChars });
  });
}
