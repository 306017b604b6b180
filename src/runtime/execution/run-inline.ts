import { HoldfastError } from "../../task/fault.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TraceContext } from "../../task/record.ts";
import { taskId } from "../../task/task-id.ts";
import { Run } from "../journal/run.ts";
import { hasMark, operatorsOnly } from "../questions/open-questions.ts";
import { withoutTask } from "../journal/run-setup.ts";
import { TaskLines } from "../journal/task-lines.ts";
import type { Services } from "../services.ts";
import { appendAndReport, report, type CallListener } from "./call-listener.ts";
import { makeContext, type ContextEffects } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";
import { directOutcome, RunTrace } from "../telemetry/run-trace.ts";
import { runToEnd, type HandlerEnd } from "../tool/tool-outcome.ts";
import type { TaskCaller } from "../tool/task-caller.ts";
import type { TaskContext } from "../tool/task-context.ts";
import { credentialsOf, type CallExtras, keepDetails } from "../tool/received-request.ts";
import { endOf } from "../duration.ts";
import type { Timers } from "../timers.ts";
import type { Tool } from "../tool/tool.ts";
import { whenAborted } from "../wait-for.ts";
import { passingPauses } from "./step-pauses.ts";
import { withinTime, workLimitOf } from "./within-time.ts";

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
  run.end();
  return end.outcome;
}
