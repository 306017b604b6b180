/**
 * A call that gets a task, in the form of its caller: each form only says what else its task is created with, and what it answers. These
 * always hold, whatever the form:
 *
 * - Nothing is begun for a caller who has left.
 * - A task stores of its call what `taskCallOf` reads from the request. A form adds terms of its own.
 * - Who leaves while the task is created, and could not find it without the answer, leaves no task behind.
 * - Whoever waits for a task, also by `tasks/result`, reads it again after each change, in the memory reserved for the answer. What is new is
 *   reported before the answer. A stop of the server does not end the wait: the task continues in the next process.
 * - A run without a task tells its caller the same as one with a task, and its last report goes out before the answer.
 */

import type { JsonObject } from "../generation/message.ts";
import { untilStoreAnswers } from "../runtime/observed-store.ts";
import type { CallListener, InlineRun, Requestor, Runtime, TaskCall } from "../runtime/runtime.ts";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import { Changes } from "../runtime/wait-for.ts";
import type { ReserveMemory } from "../store/store.ts";
import type { Outcome } from "../task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../task/record.ts";
import { type OnError, waitOutStop } from "./faults.ts";
import type { AnswerEnd } from "./streams.ts";
import { DirectReports } from "./log-messages.ts";
import type { LogLevel } from "../task/task-line.ts";
import { type Answer, callerOf, originOf, progressTokenOf, receivedBy, type ToolRequest } from "./request.ts";

/** The sender of a call, as its task stores it. */
interface CallSender {
  readonly requestor: Requestor;
  /** What the client can be asked. */
  readonly capabilities: JsonObject;
  /** Undefined for a request without a session. */
  readonly session?: string | undefined;
}

/** What is called: a tool, or a method that the author's server answers. */
export type CalledTool = Tool | (Pick<Tool, "name"> & { readonly handler?: never });

/** The task of a call of `tool`, without the terms of its form. */
export function taskCallOf(
  registry: Registry,
  tool: CalledTool,
  request: ToolRequest,
  { requestor, capabilities, session }: CallSender,
): TaskCall {
  return {
    ...requestor,
    tool: tool.name,
    arguments: request.params["arguments"],
    requiredScopes: request.access?.neededFor(tool.name) ?? [],
    origin: originOf(request, capabilities, registry, session),
    credentials: request.auth?.credentials,
    received: tool.handler === undefined ? undefined : receivedBy(tool, request),
  };
}

/** How a caller that knows of tasks is answered. */
export interface CallForm {
  /** The answer with the task, or with its outcome once there is one. */
  answer(created: TaskSnapshot): Answer | Promise<Answer>;
  /** The answer if there was no need for a task. Left out: there is always a task. */
  direct?(outcome: Outcome): Answer;
}

/** Rejects as `create` does, and with the reason of the request's signal. */
export async function answerWithTask(
  runtime: Runtime,
  call: TaskCall,
  { signal, trace }: Pick<ToolRequest, "signal" | "trace">,
  form: CallForm,
): Promise<Answer> {
  signal.throwIfAborted(); // nothing was promised yet, so nothing is begun
  let created: TaskSnapshot;
  if (form.direct === undefined) created = await runtime.create(call);
  else {
    const end = await runtime.call(call, signal);
    if (end.kind === "outcome") return form.direct(end.outcome);
    created = end.snapshot;
  }
  const { task } = created;
  trace?.about(task.id);
  // With a key or a name of its own, the caller finds its task by calling again.
  const isFound = call.idempotencyKey !== undefined || call.wireId !== undefined;
  if (signal.aborted && !isFound) await runtime.cancel(task.id, task);
  return form.answer(created);
}

/** The way to the sender of a call, as long as it waits. */
export interface CallStream {
  /** From which level on its client wants log messages now; undefined: it wants none. */
  readonly logLevel: () => LogLevel | undefined;
  /** Sends a notification ahead of the answer. */
  readonly notify: (method: string, params: object) => void;
  /** Runs `action` once the answer is sent, or never will be. */
  readonly afterAnswer: (action: (end: AnswerEnd) => void) => void;
}

/** Does `work`, whose handler reports to the caller, as long as it has no task, until it ends. */
export async function reporting<T>(
  runtime: Runtime,
  tool: Tool,
  { params }: ToolRequest,
  { logLevel, notify }: CallStream,
  work: (listener: Required<CallListener>) => Promise<T>,
): Promise<T> {
  const { clock } = runtime;
  const progressToken = progressTokenOf(params);
  const reports = new DirectReports({ clock, tool: tool.name, progressToken, logLevel, notify });
  try {
    return await work(reports);
  } finally {
    reports.end();
  }
}

/** Runs the tool without a task. */
export function runDirectly(
  runtime: Runtime,
  tool: Tool,
  request: ToolRequest,
  run: Pick<InlineRun, "ask" | "prepared" | "prepareInTask" | "progress" | "log"> & {
    readonly principal: string | null;
  },
): Promise<Outcome> {
  const { principal, ...own } = run;
  const { params, signal, auth, trace } = request;
  return runtime.runInline({
    ...own,
    tool,
    arguments: params["arguments"],
    signal,
    caller: callerOf({ auth }, principal),
    credentials: auth?.credentials,
    received: receivedBy(tool, request),
    trace: trace?.context,
  });
}

/**
 * The handler of a task may ask several questions at once, which are stored one by one: the last may be this late, in ms.
 */
const sideBySideMs = 20;

/** Those who follow the task of a waiting request: it reads the task for all of them. */
export interface Attendance {
  /** Calls `changed` when the task may look different to one of them; returns a function that stops that. */
  readonly watch: (changed: () => void) => () => void;
  /** Resolves when they have been sent what is new in this state. */
  readonly report: (snapshot: TaskSnapshot) => Promise<void>;
  /** The request waits no longer. */
  readonly leave: () => void;
}

export interface WaitOptions {
  readonly runtime: Runtime;
  readonly onError: OnError;
  readonly task: TaskRecord;
  /** Sends the caller what the task reports before its answer, now and after each change. */
  readonly report: (snapshot: TaskSnapshot) => Promise<void>;
  /** As that of its `Attendance`; left out: calls `changed` when the task has changed. */
  readonly watch?: Attendance["watch"] | undefined;
  /** Called with the task after that; returns whether the caller can be answered. */
  readonly isAnswerable: (snapshot: TaskSnapshot) => boolean;
  /** As that of the call. */
  readonly reserve?: ReserveMemory | undefined;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Aborts when the caller has waited long enough; left out: never. */
  readonly deadline?: AbortSignal;
}

/**
 * Resolves with the task when its caller can be answered. Rejects with the reason of the signal or the deadline, and if the task cannot be
 * read. While the server stops, it waits until one of them aborts, since the task continues in the next process.
 */
export async function waitForTask(options: WaitOptions): Promise<TaskSnapshot> {
  const { runtime, isAnswerable, signal, deadline } = options;
  const either = deadline === undefined ? signal : AbortSignal.any([signal, deadline]);
  for (;;) {
    const snapshot = await readUntil(isAnswerable, options, either);
    if (snapshot.task.finishedAt !== null) return snapshot;
    const pause = Promise.withResolvers<void>();
    runtime.clock.after(sideBySideMs, pause.resolve);
    await pause.promise;
    const withAllQuestions = await readUntil(() => true, options, signal);
    if (isAnswerable(withAllQuestions)) return withAllQuestions;
  }
}

/** Reads the task now and after each change. */
async function readUntil(
  isEnd: (snapshot: TaskSnapshot) => boolean,
  { runtime, onError, task, report, watch, reserve }: WaitOptions,
  signal: AbortSignal,
): Promise<TaskSnapshot> {
  const changes = new Changes();
  const unwatch = watch?.(changes.changed) ?? runtime.watch([task.id], changes.changed);
  const patience = { clock: runtime.clock, onError };
  const read = async (): Promise<TaskSnapshot> => {
    const snapshot = await runtime.get(task.id, task, undefined, reserve);
    await report(snapshot);
    return snapshot;
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      changes.forget();
      const snapshot = await untilStoreAnswers(read, patience, signal);
      if (isEnd(snapshot)) return snapshot;
      await changes.next(signal);
    }
  } catch (error) {
    return await waitOutStop(error, signal);
  } finally {
    unwatch();
  }
}
