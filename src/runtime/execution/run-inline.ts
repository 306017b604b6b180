import type { Progress, TraceContext } from "../../task/record.ts";
import type { LogText } from "../../task/task-line.ts";
import { TaskLines } from "../journal/task-lines.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Outcome } from "../../task/outcome.ts";
import { taskId } from "../../task/record-changes.ts";
import { Run } from "../journal/run.ts";
import { hasMark, operatorsOnly } from "../questions/questions.ts";
import { withoutTask } from "../journal/run-life.ts";
import type { Services } from "../services.ts";
import { type ContextEffects, makeContext } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";
import { directOutcome, RunTrace } from "../telemetry/telemetry.ts";
import { type HandlerEnd, runToEnd } from "../tool/tool-outcome.ts";
import type { TaskCaller } from "../tool/task-caller.ts";
import type { TaskContext } from "../tool/task-context.ts";
import { type CallExtras, credentialsOf, keepDetails } from "../tool/received-request.ts";
import { endOf } from "../clock.ts";
import type { Timers } from "../timers.ts";
import type { Tool } from "../tool/tool.ts";
import { whenAborted } from "../wait-for.ts";
import { passingPauses } from "./sleep.ts";
import { withinTime, workLimitOf } from "./within-time.ts";

/**
 * Receives at once what a handler reports while there is no task. Errors that it throws are ignored. Without a listener, reports are
 * dropped.
 */
export interface CallListener {
  /** Receives each report of progress. */
  readonly progress?: (report: Progress) => void;
  /** Receives each line of the log, except those that a step repeats. */
  readonly log?: (line: LogText) => void;
}

/** A handler must not fail because its report cannot be delivered. */
export function report({ progress }: CallListener, reported: Progress): void {
  try {
    progress?.(reported);
  } catch {
    // As documented.
  }
}

/** Appends a line, as `TaskLines` does. */
export function appendAndReport(
  { log }: CallListener,
  lines: TaskLines,
  ...[source, list, at, body]: Parameters<TaskLines["append"]>
): Promise<void> {
  const last = lines.lastOf("log");
  const appended = lines.append(source, list, at, body);
  try {
    if (lines.lastOf("log") > last) log?.(JSON.parse(body) as LogText);
  } catch {
    // As of progress.
  }
  return appended;
}

/** Asks the client a handler's question and resolves with the answer's result object. */
export type Ask = ContextEffects["ask"];

export interface InlineRun extends CallExtras, CallListener {
  readonly tool: Tool;
  readonly arguments: unknown;
  readonly caller: TaskCaller;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared?: string | null;
  /** True if the tool's `prepare` did not run before: it runs now, and asks through `ask` like the handler. */
  readonly prepareInTask?: true;
  /** Aborts the handler, for example when the caller disconnects. */
  readonly signal: AbortSignal;
  /** The trace context that the caller's request began. */
  readonly trace?: TraceContext | undefined;
  /** How questions reach the caller. */
  readonly ask: Ask;
}

/** Answers a call directly, without a record: steps follow the same rules, but nothing is journalled. */
export async function runInline(
  call: InlineRun,
  services: Pick<
    Services,
    | "clock"
    | "inOwnContext"
    | "limits"
    | "onError"
    | "onStepRun"
    | "options"
    | "processes"
    | "telemetry"
    | "threads"
  >,
  timers: Timers,
): Promise<Outcome> {
  const { clock, onError, onStepRun, options: limits, processes, telemetry, threads } = services;
  const id = taskId(clock.now(), (size) => clock.randomBytes(size));
  const of = { tool: call.tool.name, attempt: 1, trace: call.trace };
  const trace = telemetry && new RunTrace(telemetry.tracing, of);
  const run = new Run({
    ...withoutTask(id, call.tool, services),
    lines: new TaskLines({ limits }),
    limit: workLimitOf(call.tool, timers),
    trace,
  });
  const stopListening = whenAborted(call.signal, () => run.life.fence(call.signal.reason));
  const effects: ContextEffects = {
    ask: async (key, method, params, options) => {
      run.claim(key);
      if (hasMark(params, operatorsOnly)) {
        const problem = "so operators cannot see its questions: only those of tasks are stored.";
        throw new HoldfastError(
          "invalid_request",
          `This call of "${call.tool.name}" has no task, ${problem}`,
        );
      }
      await run.checkpoint(); // nobody is there to be asked after the answer
      return run.whileWaiting("question", () => call.ask(key, method, params, options));
    },
    call: async (key) => {
      run.claim(key);
      throw new HoldfastError(
        "invalid_request",
        `Tool "${call.tool.name}" never runs as a task, so it cannot call other tools. Remove task: "forbidden" from it.`,
      );
    },
    waitForEvent: async (key) => {
      run.claim(key);
      throw new HoldfastError(
        "invalid_request",
        `Tool "${call.tool.name}" never runs as a task, so no event can be sent to it. Remove task: "forbidden" from it.`,
      );
    },
    eventUrl: () => {
      throw new HoldfastError(
        "invalid_request",
        `Tool "${call.tool.name}" never runs as a task, so it has no addresses for events.`,
      );
    },
    sleep: async (key, time) => {
      const until = endOf(time, clock.now());
      run.claim(key);
      await run.whileWaiting("sleep", () => timers.pause(until - clock.now(), run.signal), until);
    },
    nextRound: (next) => run.nextRound(next, async () => undefined),
    update: async () => undefined,
    progress: (reported) => report(call, reported),
    append: (...line) => appendAndReport(call, run.setup.lines, ...line),
    report: onError,
    onStepRun,
    processes,
    threads,
    limits: services.limits.of(run, call.caller.principal),
    pauses: passingPauses(run, timers),
  };
  const contextFor = async (args: unknown): Promise<TaskContext> => {
    const prepared =
      call.prepareInTask === true
        ? await prepareInTask(call.tool, args, run, effects, clock, call.caller)
        : (call.prepared ?? null);
    const credentials = (): Promise<unknown> => credentialsOf(call.credentials);
    const context = makeContext(run, effects, clock, { caller: call.caller, credentials }, prepared);
    return keepDetails(context, { received: call.received });
  };
  const begin = (): Promise<HandlerEnd> =>
    runToEnd(call.tool, call.arguments, contextFor, limits.maxBodyBytes);
  const end = await withinTime(run.start(begin), run, call.tool);
  stopListening();
  trace?.end(directOutcome(end, call.signal));
  run.end(end.threw);
  return end.outcome;
}
