import { HoldfastError } from "../../task/fault.ts";
import { backoffProblem, type StoreClock } from "../clock.ts";
import type { Attempt } from "../execution/attempt.ts";
import { runStep } from "../execution/step.ts";
import { StoredReturn } from "../execution/step-try.ts";
import type { Run } from "../journal/run.ts";
import { decodeError, encodeValue } from "../stored-values.ts";
import { stepOptions, type StepContext, type StepOptions, type TaskContext } from "../tool/task-context.ts";
import { followerOf } from "../wait-for.ts";
import type { JournalKey } from "../../task/journal.ts";
import { assertOptions, joined, readOptions, settingsOf, type Read } from "../../options/options.ts";
import {
  type ReportMethod,
  type ThreadEnd,
  type ThreadJob,
  workerOptions,
  type WorkerOptions,
} from "./worker-options.ts";
import type { ThreadPool } from "./thread-pool.ts";

/** Those of the step, and of its function. */
export type ThreadStepOptions = StepOptions & WorkerOptions;

const tableOfBoth = joined(stepOptions, workerOptions);

type Reports = Pick<TaskContext, ReportMethod>;

interface ThreadStep {
  readonly run: Run;
  readonly threads: ThreadPool;
  readonly clock: StoreClock;
  readonly principal: string | null;
  readonly reports: Reports;
  readonly name: string;
  readonly options: Read<ThreadStepOptions>;
  readonly input: unknown;
}

/** Runs a function of a module as a step, on a thread. */
export async function runThreadStep(
  { attempt, reports }: Pick<ThreadStep, "reports"> & { readonly attempt: Attempt },
  key: JournalKey,
  given: ThreadStepOptions,
  input: unknown,
): Promise<unknown> {
  assertOptions("task.step", given, tableOfBoth);
  const options = readOptions(tableOfBoth, given);
  const problem = options.backoff && backoffProblem("task.step: backoff", options.backoff);
  if (problem !== undefined) throw new HoldfastError("configuration", `${problem}.`);
  const { timeoutMs, ...retrying } = options;
  void timeoutMs; // a step that is over waits for its thread
  const name = typeof key === "string" ? key : JSON.stringify(key);
  const { clock, threads } = attempt.services;
  const { principal } = attempt.call.caller;
  const step = { run: attempt.run, threads, clock, principal, reports, name, options, input };
  return runStep(attempt, key, retrying, (context) => runTry(step, context));
}

async function runTry(step: ThreadStep, { idempotencyKey, signal }: StepContext): Promise<StoredReturn> {
  const { run, threads, clock, principal, reports, name, options, input } = step;
  const { killAfterMs } = settingsOf<WorkerOptions>(workerOptions, options);
  const { timeoutMs } = options;
  const maxBytes = run.setup.maxBodyBytes;
  const job: ThreadJob = {
    module: options.worker.href,
    export: options.export,
    input:
      input === undefined
        ? null
        : encodeValue(input, { what: `The input of step "${name}"`, name: "input", maxBytes }),
    idempotencyKey,
    result: { what: `The result of step "${name}"`, name: "result", maxBytes },
  };
  const { controller, release } = followerOf(signal);
  let cancelTimer = (): void => undefined;
  const onBegin = (): void => {
    if (timeoutMs === undefined) return;
    const late = new HoldfastError("step_timeout", `Step "${name}" took longer than ${timeoutMs} ms.`);
    cancelTimer = clock.after(timeoutMs, () => controller.abort(late));
  };
  const report = (method: ReportMethod, args: readonly unknown[]): unknown =>
    (reports[method] as (...given: readonly unknown[]) => unknown)(...args);
  try {
    const work = { job, principal, signal: controller.signal, killAfterMs, onBegin, report };
    return returnOf(await threads.run(work), step);
  } finally {
    cancelTimer();
    release();
  }
}

function returnOf(end: ThreadEnd, { name }: ThreadStep): StoredReturn {
  switch (end.how) {
    case "returned":
      return new StoredReturn(end.value, end.instance);
    case "refused":
      return new StoredReturn(null, undefined, decodeError(end.error));
    case "threw":
      throw withStack(decodeError(end.error), end.stack);
    case "missing":
      throw new HoldfastError("configuration", `Step "${name}" cannot run on a thread: ${end.problem}`);
  }
}

/** Operators see where it was thrown on the thread. */
function withStack(error: Error, stack: string | undefined): Error {
  if (stack === undefined) return error;
  return Object.defineProperty(error, "stack", { value: stack, writable: true, configurable: true });
}
