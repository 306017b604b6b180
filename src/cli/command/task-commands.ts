import { hasEnded, type RemoteTask } from "../../client/task/remote-task.ts";
import { describeRpcError } from "../../client/reply/reply.ts";
import type { Given } from "../commands.ts";
import type { Context, TaskOptions } from "../context.ts";
import { type ExitCode, exitCodes, interruptedBy, Stopped, UsageError } from "../errors.ts";
import { taskJson, type TaskOrigin } from "../output/json-shapes.ts";
import { describeQuestion } from "../terminal/form/question-text.ts";
import type { LogLine, OutputPart } from "../../client/task/task-requests.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import { showContent } from "../output/show-content.ts";
import { showDirect, showOutcome, waitForTask } from "./show-outcome.ts";
import { howToResume, type ShownTask } from "../terminal/terminal.ts";
import { SaveFolder } from "../output/save-content.ts";
import { clientGenerations, generationNamed } from "../../client/generations.ts";
import type { OnInput } from "../../client/question/ask-user.ts";
import type { TaskHandle } from "../../client/task/task-handle.ts";
import { endsWithCommand, type FoundServer } from "../server/find-server.ts";
import { resolveServer, serverOfTask } from "../server/resolve-server.ts";
import { generationOf, type Session, withServer } from "../server/with-server.ts";
import type { ProtocolChoice } from "../server/open-server.ts";
import type { KnownTask, State } from "../state/state.ts";
import { watchCommand } from "../arguments/words.ts";

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

/** The task of a command, with the connection to its server. */
export interface TaskSession extends Session {
  readonly handle: TaskHandle;
  readonly shown: ShownTask;
  readonly origin: TaskOrigin;
  /** Undefined for a task that was started elsewhere. */
  readonly known: KnownTask | undefined;
}

interface TaskTarget {
  readonly id: string;
  readonly options: TaskOptions;
  readonly onInput?: OnInput;
  /** Whether an unanswered call may be sent again to find its task. Default: it is a UsageError. */
  readonly sendsAgain?: boolean;
}

/** Finds the task that `id` names, connects to its server, and hands both to `work`. */
export async function withTask<Value>(
  context: Context,
  { id, options, onInput, sendsAgain = false }: TaskTarget,
  work: (session: TaskSession) => Promise<Value>,
): Promise<Value> {
  const { state } = context;
  const asked =
    options.server === undefined ? undefined : await resolveServer(context, options.server, options);
  const known = await (asked === undefined ? state.find(id) : state.find(id, startedAt(asked)));
  if (known === undefined && asked === undefined) {
    throw new UsageError(
      `There is no task ${JSON.stringify(id)} on your list. See holdfast ls. For a task that was started elsewhere, give its full id and --server.`,
    );
  }
  if (known?.call.taskId === null && !sendsAgain) throw new UsageError(noTaskYet(known.id));
  const server = asked ?? (await serverOfTask(context, known, options));
  const elsewhere = known === undefined ? server.shown : undefined;
  const unfinished = { watchCommand: watchCommand(known?.id ?? id, elsewhere) };
  const target = { server, onInput, protocol: protocolFor(known), unfinished };
  const working = withServer(context, target, options, async (session) => {
    const handle = await handleOf(known, id, session);
    const taskId = handle.taskId ?? id;
    const tool = known?.call.tool;
    const shown = {
      taskId,
      tool,
      startedAt: known?.call.startedAt,
      watchCommand: watchCommand(taskId, elsewhere),
      serverEnds: endsWithCommand(server),
    };
    const origin = { server: server.shown, tool };
    const printed = printedOf(session, known);
    try {
      return await work({ ...session, handle, shown, origin, known, printed });
    } catch (error) {
      throw explainUnknown(error, session);
    }
  });
  return working.catch(async (error: unknown) => {
    throw await explainKept(error, known, { state, server });
  });
}

/**
 * Which tasks on the list are meant with `--server`: those at that server, or else those that were started with the same
 * name, which may have meant another server then.
 */
function startedAt({ name, spec, isTyped }: FoundServer): readonly ((task: KnownTask) => boolean)[] {
  return [
    ({ call }) => call.server === name,
    ({ call, server }) => !isTyped && call.taskId !== null && server?.given === spec.given,
  ];
}

/** Removes a task from the list also where it stands under the server that it was started at. */
function printedOf({ server, printed }: Session, known: KnownTask | undefined): Session["printed"] {
  const { call } = known ?? {};
  if (call === undefined || call.taskId === null || call.server === server.name) return printed;
  const started = { ...call, taskId: call.taskId };
  return async (ended = []) => printed([...ended, started]);
}

/**
 * Adds a hint to the error for an unknown task that stays on the list, which is known once the connection is
 * closed.
 */
async function explainKept(
  error: unknown,
  known: KnownTask | undefined,
  { state, server }: { readonly state: State; readonly server: FoundServer },
): Promise<unknown> {
  if (!(error instanceof TaskClientError) || error.error?.code !== -32602) return error;
  const isUnknown = error.code === "unknown_task" || error.code === "expired";
  if (!isUnknown || known === undefined) return error;
  if (known.isOver)
    return withMessage(error, `${error.message}. It has ended, and servers keep results only for a while.`);
  if (!(await state.isWaitedFor(known))) return error;
  return withMessage(
    error,
    `${error.message}. ${whyUnknown(server)} The task stays on your list; to remove it, use holdfast forget.`,
  );
}

function whyUnknown({ target }: FoundServer): string {
  return typeof target === "string"
    ? "It may have been started with other credentials: if so, use those."
    : "A server that keeps tasks in memory loses them when its command ends.";
}

function noTaskYet(id: string): string {
  return `The server never answered this call, so its task is not known yet, and nothing was sent now. If the server recognises repeated calls, this sends the call again and waits for it:\n  ${watchCommand(id)}\nTo remove it from your list, use holdfast forget.`;
}

/** Adds a hint: SDK v1 servers with tasks in memory do not know the tasks of earlier sessions. A process has one session. */
function explainUnknown(error: unknown, { client, server }: Session): unknown {
  const isUnknown = error instanceof TaskClientError && error.code === "unknown_task";
  const generation = generationOf(client);
  const mayBeOfAnother = typeof server.target === "string" && clientGenerations[generation].mayBindToSession;
  if (!isUnknown || !mayBeOfAnother) return error;
  return withMessage(
    error,
    `${error.message}. Some servers of protocol ${generation} show a task only to the session that started it`,
  );
}

function withMessage({ code, cause, reference, error }: TaskClientError, message: string): TaskClientError {
  return new TaskClientError(code, message, { cause, reference, error });
}

/** A task is visible only in the generation that created it, even if the server speaks a later one now. */
export function protocolFor(known: KnownTask | undefined): ProtocolChoice {
  return known === undefined ? {} : (generationNamed(known.call.generation)?.options ?? {});
}

async function handleOf(
  known: KnownTask | undefined,
  id: string,
  { client, server, signal }: Session,
): Promise<TaskHandle> {
  if (known === undefined) {
    return client.resume({ server: server.name, generation: generationOf(client), taskId: id });
  }
  const { call } = known;
  if (call.taskId !== null) return client.resume({ ...call, server: server.name, taskId: call.taskId });
  const pending = await client.pending();
  const same = pending.find(({ idempotencyKey }) => idempotencyKey === call.key);
  if (same === undefined) throw new UsageError("The call was answered in the meantime. See holdfast ls.");
  return same.take({ signal });
}
