import { setImmediate } from "node:timers/promises";
import { type CallToolResult, ProtocolError } from "@modelcontextprotocol/server";
import { systemClock } from "../../client/clock.ts";
import type { CallOptions } from "../../client/task-client.ts";
import type { StoredCall } from "../../client/handles/handle-store.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { TaskHandle, WaitOptions } from "../../client/task/task-handle.ts";
import type { TaskReference } from "../../client/task/remote-task.ts";
import { unlessAborted } from "../../client/background-work.ts";
import type { ElicitParams, JsonForm } from "../../runtime/questions/form.ts";
import type { PrepareContext } from "../../runtime/tool/received-request.ts";
import { RetryLater, NonRetryableError } from "../../runtime/tool/tool-errors.ts";
import type { TaskContext } from "../../runtime/tool/task-context.ts";
import { askerOf, relayedParams, type Asker } from "./relayed-questions.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

/** One call of a tool of another server. */
export interface UpstreamCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Whether the call may be made again if it is unknown what became of it. */
  readonly mayRepeat: boolean;
  /** What its entries in the journal begin with: of its own within the task. */
  readonly key: string;
}

/** What a call has become: a task at the server, or its result. */
export type Started =
  | { readonly reference: TaskReference; readonly session: Pick<StoredCall, "sessionId" | "sessionOrigin"> }
  | { readonly result: CallToolResult };

/** How long a server may take to acknowledge that a call was cancelled, in milliseconds. */
const cancelMs = 5_000;

/** How often a call that may be repeated is made again, and how often it is begun again when the server has lost its task. */
const mostRepeats = 5;

/** The pauses before a task is looked for on the next connection, in milliseconds. */
const shortestPauseMs = 250;
const longestPauseMs = 30_000;

/** How long a call that begins waits for a connection with its slot, and the pauses without one in which it waits after that, in milliseconds. */
const connectMs = 1_000;
const connectPausesMs = [1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Calls a tool of another server within a task, and resolves with its result. The intention is in the journal before the call is sent, and the
 * task that the server made of it before anybody waits. So the next attempt goes on with that task. A call without one, whose answer was lost, is
 * sent again where the server recognises it or `mayRepeat` allows it, and otherwise fails and says so. Progress, status and questions go to
 * whoever waits for the task. While the server works on a task, this one takes no slot; its tool needs `park: false`.
 */
export async function callUpstream(
  task: TaskContext,
  upstream: UpstreamConnection,
  call: UpstreamCall,
): Promise<CallToolResult> {
  const ask = askerOf(task, call.key);
  const begun = await task.step([call.key, "begin"], ({ idempotencyKey }) => {
    return { attempt: task.attempt, idempotencyKey, at: systemClock.now() };
  });
  const isSentBefore = begun.attempt !== task.attempt;
  const { idempotencyKey } = begun;
  const sentAt = isSentBefore && !call.mayRepeat ? begun.at : undefined;
  const repeats = call.mayRepeat ? { retries: mostRepeats } : {};
  const connected = connecting(task, upstream);
  const prepared = task.prepared as Started | undefined;
  const reports = reportsOf(task, upstream);
  const asSent = { idempotencyKey, sentAt, ...reports };
  const isFirst = prepared === undefined && !isSentBefore && upstream.current !== undefined;
  // A result is in the journal once the task has ended with it, so the first try is no step.
  const first = isFirst
    ? await firstTry(task, upstream, call, ask, { ...asSent, signal: task.signal })
    : prepared;
  if (first !== undefined && "result" in first) return first.result;
  let started = await task.step(
    [call.key, "call"],
    repeats,
    async ({ signal }) => first ?? start(upstream, call, ask, connected, { ...asSent, signal }),
  );
  for (let round = 1; ; round++) {
    if ("result" in started) return started.result;
    const mayRepeat = call.mayRepeat && round <= mostRepeats;
    const end = await endOf(task, upstream, { ...call, mayRepeat }, ask, started);
    if (end !== "lost") return end.result;
    started = await task.step([call.key, "call", round], repeats, async ({ signal, idempotencyKey: key }) =>
      start(upstream, call, ask, connected, { idempotencyKey: key, signal, ...reports }),
    );
  }
}

/** Undefined if the call may be made again. */
async function firstTry(
  task: TaskContext,
  upstream: UpstreamConnection,
  call: UpstreamCall,
  ask: Asker,
  options: CallOptions & { readonly signal: AbortSignal },
): Promise<Started | undefined> {
  try {
    return await start(upstream, call, ask, upstream.client, options);
  } catch (error) {
    task.signal.throwIfAborted();
    const isFinal = error instanceof NonRetryableError || ProtocolError.isInstance(error);
    if (isFinal || !call.mayRepeat) throw error;
    return undefined;
  }
}

/** Calls a tool of another server while the caller waits: nothing is stored. */
export async function passThrough(
  task: TaskContext,
  upstream: UpstreamConnection,
  { tool, args, key }: UpstreamCall,
): Promise<CallToolResult> {
  const { signal } = task;
  const options = { signal, cancelOnAbort: true, onProgress: reportTo(task) };
  const ask = askerOf(task, key);
  const onTask = ({ taskId }: TaskReference): void => {
    upstream.questions.duringTask(taskId, ask, () => ended).catch(() => undefined); // the caller gets it below
  };
  let ended: Promise<CallToolResult>;
  try {
    const client = await upstream.client(signal);
    ended = upstream.questions.duringCall(ask, () => client.callTool(tool, args, { ...options, onTask }));
    return await ended;
  } catch (error) {
    throw failureOf(error, upstream, tool);
  }
}

/** Gives the connection to the tries of a step, which wait longer than a moment without a slot: other tools need not wait for this server. */
function connecting(task: TaskContext, upstream: UpstreamConnection): UpstreamConnection["client"] {
  let tries = 0;
  return async (signal) => {
    const { current, name } = upstream;
    if (current !== undefined) return current;
    const late = systemClock.deadline(tries === 0 ? connectMs : 1);
    try {
      return await unlessAborted(upstream.client(late.signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!late.signal.aborted) throw error;
      task
        .status(`The server ${name} cannot be reached at present. The call waits for it.`)
        .catch(() => undefined);
      const pauseMs = connectPausesMs[tries++] ?? connectPausesMs.at(-1) ?? 0;
      throw new RetryLater(pauseMs, `The server ${name} could not be reached, and was sent nothing.`);
    } finally {
      late.clear();
    }
  };
}

/**
 * Makes a call before there is a task, and puts what the server asks first to the caller. Resolves once the server has made a task, or has answered. A
 * question that is new ends the round, which begins again with its answer.
 */
export async function beginUpstream(
  context: PrepareContext,
  upstream: UpstreamConnection,
  call: UpstreamCall,
): Promise<Started> {
  const left = new AbortController();
  const asked = async <Answer>(question: Promise<Answer>): Promise<Answer> => {
    let isAnswered = false;
    const answer = question.finally(() => (isAnswered = true));
    await setImmediate(); // an answer that came along is there by now
    await setImmediate();
    if (!isAnswered) left.abort(new Error("The round has ended with a question"));
    return answer;
  };
  const ask: Asker = async ({ method, key, params }) => {
    switch (method) {
      case "elicitation/create":
        return asked(context.elicit(key, relayedParams(params) as ElicitParams<JsonForm>));
      case "sampling/createMessage":
        return asked(context.sample(key, relayedParams(params)));
      case "roots/list":
        return asked(context.roots(key));
    }
  };
  const until = AbortSignal.any([context.signal, left.signal]);
  return start(upstream, { ...call, mayRepeat: false }, ask, upstream.client, { signal: until });
}

async function start(
  upstream: UpstreamConnection,
  { tool, args, mayRepeat }: UpstreamCall,
  ask: Asker,
  connected: UpstreamConnection["client"],
  options: CallOptions & { readonly signal: AbortSignal },
): Promise<Started> {
  try {
    const client = await connected(options.signal);
    const started = await upstream.questions.duringCall(ask, () => client.startTool(tool, args, options));
    const { reference } = started;
    if (reference === null) return { result: await started.result() };
    const { sessionId, sessionOrigin } = (await upstream.handles.find(reference)) ?? {};
    const session = {
      ...(sessionId !== undefined && { sessionId }),
      ...(sessionOrigin !== undefined && { sessionOrigin }),
    };
    return { reference, session };
  } catch (error) {
    options.signal.throwIfAborted();
    if (mayRepeat && isLostConnection(error))
      throw new Error(lostConnection(upstream, tool), { cause: error });
    throw failureOf(error, upstream, tool);
  }
}

/** Waits for the task at the server, through restarts of either side. `lost`: the server has forgotten it, and the call may be made again. */
async function endOf(
  task: TaskContext,
  upstream: UpstreamConnection,
  { tool, mayRepeat, key }: UpstreamCall,
  ask: Asker,
  { reference, session }: Exclude<Started, { result: unknown }>,
): Promise<{ readonly result: CallToolResult } | "lost"> {
  const { taskId } = reference;
  const stored = { ...reference, ...session, tool, args: {}, key: taskId, startedAt: systemClock.now() };
  if ((await upstream.handles.find(reference)) === undefined) await upstream.handles.keep(stored);
  // While it is open the handler rests, and takes no slot. Nobody sends it.
  task.waitForEvent([key, "end", taskId], `end of ${taskId}`).catch(() => undefined);
  try {
    const result = await upstream.questions.duringTask(taskId, ask, async () => {
      for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        try {
          return await follow(task, upstream, reference);
        } catch (error) {
          task.signal.throwIfAborted();
          if (!isLostConnection(error)) throw error;
          await systemClock.sleep(pauseMs, task.signal);
        }
      }
    });
    return { result };
  } catch (error) {
    if (task.cancelled) await cancel(upstream, reference);
    task.signal.throwIfAborted();
    if (mayRepeat && isForgotten(error)) return "lost";
    throw failureOf(error, upstream, tool);
  }
}

async function follow(
  task: TaskContext,
  upstream: UpstreamConnection,
  reference: TaskReference,
): Promise<CallToolResult> {
  const { signal } = task;
  const handle = await (await upstream.client(signal)).resume(reference);
  let last: string | undefined;
  for await (const { statusMessage } of handle.updates({ signal, onTrouble: troubles(task, upstream) })) {
    if (statusMessage === undefined || statusMessage === last) continue;
    last = statusMessage;
    task.status(statusMessage).catch(() => undefined);
  }
  return handle.result({ signal });
}

/** Whether the task can be found again on the next connection. */
function isLostConnection(error: unknown): boolean {
  return error instanceof TaskClientError && (error.code === "connection" || error.code === "closed");
}

function isForgotten(error: unknown): boolean {
  return error instanceof TaskClientError && (error.code === "unknown_task" || error.code === "expired");
}

async function cancel(upstream: UpstreamConnection, reference: TaskReference): Promise<void> {
  const deadline = systemClock.deadline(cancelMs);
  const { signal } = deadline;
  try {
    const handle: TaskHandle = await (await upstream.client(signal)).resume(reference);
    await handle.cancel({ signal });
  } catch {
    // It ends by its ttl.
  } finally {
    deadline.clear();
  }
}

function reportsOf(
  task: TaskContext,
  upstream: UpstreamConnection,
): Pick<CallOptions, "onProgress" | "onTrouble"> {
  return { onProgress: reportTo(task), onTrouble: troubles(task, upstream) };
}

function reportTo(task: TaskContext): NonNullable<CallOptions["onProgress"]> {
  return ({ progress, total, message }) => task.progress(progress, total, message);
}

function troubles(task: TaskContext, { name }: UpstreamConnection): NonNullable<WaitOptions["onTrouble"]> {
  return (trouble) => {
    if (trouble !== null)
      task
        .status(`The server ${name} does not answer at present, and is asked again.`)
        .catch(() => undefined);
  };
}

function lostConnection({ name }: UpstreamConnection, tool: string): string {
  return `The connection to the server ${name} was lost while it ran ${tool}.`;
}

/** What the caller gets for a call that did not end in a result. The server's own errors are passed on as they are. */
export function failureOf(error: unknown, upstream: UpstreamConnection, tool: string): unknown {
  const { name } = upstream;
  if (!(error instanceof TaskClientError)) return error;
  const { code, error: rpc } = error;
  const answered = code === "failed" || code === "rpc" || code === "missing_capability";
  if (answered && rpc !== undefined) return new ProtocolError(rpc.code, rpc.message, rpc.data);
  const text = (happened: string): NonRetryableError => new NonRetryableError(happened, { cause: error });
  switch (code) {
    case "connection":
    case "closed":
      return text(
        `${lostConnection(upstream, tool)} It is not known whether the call had an effect, so it was not made again. (${error.message})`,
      );
    case "cancelled":
      return text(`The server ${name} says that its task for ${tool} was cancelled there.`);
    case "expired":
    case "unknown_task":
      return text(
        `The server ${name} no longer knows the task that it made for ${tool}, so its result is lost.`,
      );
    case "unauthorized":
      return text(`The server ${name} refused access: the credentials for it have to be corrected.`);
    default:
      return text(`The call of ${tool} on the server ${name} failed: ${error.message}`);
  }
}
