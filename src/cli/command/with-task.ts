import { clientGenerations, generationNamed } from "../../client/generations.ts";
import type { OnInput } from "../../client/question/ask-user.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { TaskHandle } from "../../client/task/task-handle.ts";
import type { Context, TaskOptions } from "../context.ts";
import type { TaskOrigin } from "../output/task-json.ts";
import { endsWithCommand, type FoundServer } from "../server/find-server.ts";
import { resolveServer, serverOfTask } from "../server/resolve-server.ts";
import { generationOf, type Session, withServer } from "../server/with-server.ts";
import type { ProtocolChoice } from "../server/open-server.ts";
import type { KnownTask, State } from "../state/state.ts";
import type { ShownTask } from "../terminal/terminal.ts";
import { UsageError } from "../errors.ts";
import { watchCommand } from "../arguments/words.ts";

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
