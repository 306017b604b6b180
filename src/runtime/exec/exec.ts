/**
 * `task.exec`: a command as a step of a task.
 * - What is needed to find the process again is in the journal before its work can begin: until then it waits for the word of the server.
 * - Of one step, at most one process works at a time: before another begins, all processes of the last one have ended.
 * - Its output and its exit code are in files, so that nobody has to be there when it ends.
 * - A process that no handler follows, and whose task has ended, is ended by whichever process of a server on its machine sees it.
 */

import { setPriority } from "node:os";
import { HoldfastError } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import { assertOptions, settingsOf, type Settings } from "../../options/options.ts";
import type { LogLevel } from "../../task/task-line.ts";
import { systemClock } from "../clock.ts";
import type { Attempt } from "../execution/attempt.ts";
import { runStep } from "../execution/step.ts";
import { NotYet } from "../execution/step-try.ts";
import { waitFor } from "../wait-for.ts";
import { ExecError, execOptions, type ExecOptions, type ExecResult, ownVariables } from "./exec-options.ts";
import { end, endGroup, launch, type Launched, lookFor } from "./started-processes.ts";
import { Output, SavedOutput, textOf } from "./output.ts";
import type { StepContext } from "../tool/task-context.ts";

export type LogLine = (level: LogLevel, text: string, data: object) => Promise<void>;

type Unset = "cwd" | "env" | "timeoutMs" | "backoff" | "retryIf" | "limit" | "artifacts";

/** How one process ended. */
type Ended = Omit<ExecResult, "links">;

interface Exec {
  readonly attempt: Attempt;
  readonly logLine: LogLine;
  readonly key: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly options: Settings<ExecOptions, Unset>;
  /** Processes that have ended: their files are needed until the journal says how, or has another process. */
  readonly over: Launched[];
  /** How long to wait before the next look at a process on another machine (ms). */
  awayMs: number;
}

/** Runs a command until it ends, or takes over one that an earlier run has begun. */
export async function runExec(
  { attempt, logLine }: Pick<Exec, "attempt" | "logLine">,
  key: JournalKey,
  file: string,
  args: readonly string[],
  given: ExecOptions,
): Promise<ExecResult> {
  assertOptions("task.exec", given, execOptions);
  assertCommand(file, args);
  const { run, services } = attempt;
  const options = settingsOf<ExecOptions, Unset>(execOptions, given);
  const { retries, backoff, retryIf, limit, onCrash } = options;
  const retrying = {
    retries,
    ...(backoff && { backoff }),
    ...(retryIf && { retryIf }),
    ...(limit && { limit }),
  };
  const exec = {
    attempt,
    logLine,
    key: run.keys.stored(key),
    file,
    args,
    options,
    over: [],
    awayMs: firstAwayMs,
  };
  const saved = new SavedOutput(run, services.clock, exec.key, options.artifacts ?? {});
  const files = {
    begin: () => saved.begin(),
    store: async () => {
      const last = exec.over.at(-1);
      if (last !== undefined) await saved.store(last);
    },
  };
  let begun: string | undefined;
  let isFirst = true;
  const prepare = async (): Promise<void> => {
    if (isFirst) begun = await run.begunBy(exec.key);
    isFirst = false;
  };
  const begin = async ({ signal }: StepContext): Promise<Ended> => {
    const earlier = begun === undefined ? undefined : (JSON.parse(begun) as Launched);
    begun = undefined;
    try {
      return await runTry(exec, earlier, signal);
    } catch (error) {
      if (error instanceof NotYet) begun = error.begun;
      throw error;
    }
  };
  const kind = { livesOn: onCrash === "adopt", prepare, files };
  const step = runStep(attempt, key, retrying, begin, kind);
  try {
    const ended = await step;
    return { ...ended, links: await saved.links() };
  } catch (error) {
    if (isExecError(error)) error.links = await saved.links().catch(() => []);
    throw error;
  } finally {
    if (!run.signal.aborted) await clear(exec); // else the journal may know of none of this
  }
}

async function runTry(exec: Exec, earlier: Launched | undefined, signal: AbortSignal): Promise<Ended> {
  const { attempt, key, file, args, options } = exec;
  const { run, services } = attempt;
  const { clock, processes } = services;
  if (earlier !== undefined && (await goesOn(exec, earlier))) {
    await run.task?.journal.beginStep({ key, value: JSON.stringify(earlier), goesOn: true });
    return follow(exec, earlier, undefined, signal);
  }
  const { cwd = process.cwd(), env = {}, inheritEnv, stdin, niceness } = options;
  const command = { file, args, cwd, env: { ...ownVariables(inheritEnv), ...env }, stdin };
  signal.throwIfAborted();
  const taskId = run.task !== undefined ? run.setup.taskId : null;
  const place = { folder: processes.place(), taskId, at: clock.now() };
  const { launched, begin, ended } = await processes.launching(place, () => launch(command, place));
  try {
    if (niceness > 0) setPriority(launched.pid, niceness);
    await run.task?.journal.beginStep({ key, value: JSON.stringify(launched), begunAt: place.at });
    signal.throwIfAborted();
  } catch (error) {
    await endGroup(launched, 0); // nothing has run
    exec.over.push(launched);
    throw error;
  }
  await clear(exec);
  await begin();
  return follow(exec, launched, ended, signal);
}

/** Whether the process that an earlier run has begun, or its end, counts for this one; if not, another can begin. */
async function goesOn(exec: Exec, earlier: Launched): Promise<boolean> {
  const { attempt, options } = exec;
  const { killAfterMs, onCrash, onOtherMachine } = options;
  const found = await lookFor(earlier);
  if (found === "elsewhere") {
    if (onOtherMachine === "fail") throw lostOn(exec, earlier, "runs elsewhere, or has ended there");
    const pauseMs = exec.awayMs;
    exec.awayMs = Math.min(pauseMs * 2, longestAwayMs);
    throw new NotYet(pauseMs, JSON.stringify(earlier));
  }
  attempt.services.processes.follows(earlier);
  if (typeof found === "object" || (found === "runs" && onCrash === "adopt")) return true;
  await end(earlier, killAfterMs); // all of it, also where its leader alone is gone
  exec.over.push(earlier);
  if (found === "ended by us" && leftOf(exec, earlier) <= 0) throw late(exec);
  if (found !== "lost" || onCrash === "restart") return false;
  throw lostOn(exec, earlier, "is gone, and has left no exit code", await printedBy(exec, earlier));
}

function isExecError(thrown: unknown): thrown is ExecError {
  try {
    return thrown instanceof ExecError;
  } catch {
    return false; // looking at it throws
  }
}

function lostOn({ file }: Exec, { pid, machine }: Launched, how: string, printed = {}): ExecError {
  return new ExecError("exec_lost", `${file} (process ${pid} on ${machine.host}) ${how}.`, printed);
}

/** Removes the files that nobody needs any more. */
async function clear({ over, attempt }: Exec): Promise<void> {
  for (const launched of over.splice(0)) await attempt.services.processes.done(launched);
}

/** Between looks at a process on another machine, whose server may take the task over. */
const firstAwayMs = 1_000;

const longestAwayMs = 60_000;

const shortestLookMs = 50;

const longestLookMs = 1_000;

/** Passes on what a process prints until it has ended, and resolves with how. */
async function follow(
  exec: Exec,
  launched: Launched,
  ended: Promise<void> | undefined,
  signal: AbortSignal,
): Promise<Ended> {
  const { attempt, logLine, file, options } = exec;
  const { processes } = attempt.services;
  const { killAfterMs, maxLogLines, successCodes } = options;
  processes.follows(launched);
  const output = await Output.of(launched.folder, maxLogLines, (stream, text) =>
    logLine(stream === "stdout" ? "info" : "warning", text, { exec: exec.key, stream }),
  );
  let wake = (): void => undefined;
  void ended?.then(() => wake());
  try {
    let found = await lookFor(launched);
    for (let ms = shortestLookMs; found === "runs"; ms = Math.min(ms * 1.5, longestLookMs)) {
      await output.read();
      const left = leftOf(exec, launched);
      if (left <= 0) {
        await end(launched, killAfterMs);
        await output.end();
        exec.over.push(launched);
        throw late(exec);
      }
      const look = (done: () => void): (() => void) => {
        wake = done;
        return systemClock.after(Math.min(ms, left), done);
      };
      await waitFor(look, signal);
      found = await lookFor(launched);
    }
    await endGroup(launched, killAfterMs); // what it has left behind
    await output.end();
    exec.over.push(launched);
    const printed = await printedBy(exec, launched);
    if (typeof found === "string") {
      const message = `${file} (process ${launched.pid}) was ended, and has left no exit code.`;
      throw new ExecError("exec_lost", message, printed);
    }
    const { exitCode } = found;
    if (successCodes.includes(exitCode)) return { exitCode, ...printed };
    const last = printed.stderr.trim().split("\n").at(-1) ?? "";
    const message = `${file} ended with exit code ${exitCode}${last === "" ? "." : `: ${last}`}`;
    throw new ExecError("exec_failed", message, { exitCode, ...printed });
  } catch (error) {
    if (signal.aborted) await leave(exec, launched);
    throw error;
  } finally {
    await output.close().catch(() => undefined);
    processes.leaves(launched);
  }
}

/** The handler is told to end. A process that is to live on is left to the next run, or to whoever sees that its task has ended. */
async function leave({ attempt, options }: Exec, launched: Launched): Promise<void> {
  const { run, services } = attempt;
  const { state, cancelRequested } = run.life;
  if (options.onCrash === "adopt" && (state === "released" || state === "fenced")) return;
  await end(launched, options.killAfterMs);
  if (cancelRequested) await services.processes.done(launched);
}

/** In ms. */
function leftOf({ attempt, options: { timeoutMs = Infinity } }: Exec, { at }: Launched): number {
  return at + timeoutMs - attempt.services.clock.nowSince(at);
}

function late({ file, options }: Exec): HoldfastError {
  return new HoldfastError("step_timeout", `${file} took longer than ${options.timeoutMs} ms.`);
}

async function printedBy(
  { options }: Exec,
  { folder }: Launched,
): Promise<{ stdout: string; stderr: string }> {
  const { maxOutputBytes } = options;
  const text = (stream: "stdout" | "stderr"): Promise<string> =>
    textOf(folder, stream, maxOutputBytes).catch(() => ""); // its files are gone
  return { stdout: await text("stdout"), stderr: await text("stderr") };
}

function assertCommand(file: unknown, args: unknown): void {
  const isText = (given: unknown): boolean => typeof given === "string" && !given.includes("\0");
  if (!isText(file) || file === "" || (file as string).startsWith("-"))
    throw new TypeError(
      "task.exec needs the name or the path of a program, which does not begin with a hyphen.",
    );
  if (!Array.isArray(args) || !args.every(isText))
    throw new TypeError("task.exec takes the arguments of its program as a list of texts.");
}
