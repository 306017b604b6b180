import type { Outcome } from "../../task/outcome.ts";
import type { Progress } from "../../task/record.ts";
import { taskId } from "../../task/task-id.ts";
import type { AttemptJournal } from "./attempt-journal.ts";
import { ClaimedKeys } from "./claimed-keys.ts";
import type { Clock } from "../clock.ts";
import { makeContext, type ContextEffects } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";
import { runToEnd } from "../tool/run-to-end.ts";
import type { TaskCaller } from "../tool/caller.ts";
import { credentialsOf } from "../tool/credentials.ts";
import type { TaskContext } from "../tool/task-context.ts";
import { assertDuration } from "../duration.ts";
import type { Timers } from "../timers.ts";
import type { Tool } from "../tool/tool.ts";

/** Puts a question of a handler to its client and resolves with the answer's result object. */
export type Ask = ContextEffects["ask"];

export interface InlineRun {
  readonly tool: Tool;
  readonly arguments: unknown;
  readonly caller: TaskCaller;
  /** What `authenticate` returned as `credentials`. */
  readonly credentials?: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared?: string | null;
  /** True where the tool's `prepare` did not run before: it runs now, and asks through `ask` as the handler does. */
  readonly prepareInTask?: true;
  /** Aborts the handler, for one when the caller went away. */
  readonly signal: AbortSignal;
  /** How questions reach the caller. */
  readonly ask: Ask;
  /** Hears each report of progress at once; what it throws is lost. Without it reports go nowhere. */
  readonly progress?: (report: Progress) => void;
}

/**
 * Answers a call directly, without a record: steps run under the same rules but are journalled nowhere.
 */
export async function runInline(
  run: InlineRun,
  clock: Clock,
  timers: Timers,
  maxBodyBytes: number,
): Promise<Outcome> {
  const keys = new ClaimedKeys();
  const id = taskId(clock.now(), (size) => clock.randomBytes(size));
  const journal: AttemptJournal = {
    taskId: id,
    wireId: id,
    attempt: 1,
    signal: run.signal,
    maxBodyBytes,
    claim: (key) => keys.claim(key),
    find: () => undefined,
    replayed: async () => undefined,
    checkpoint: async () => run.signal.throwIfAborted(),
    begin: async () => run.signal.throwIfAborted(),
    working: (work) => work(),
    recordPrepared: async () => undefined,
    recordStep: async () => undefined,
  };
  const effects: ContextEffects = {
    ask: async (key, method, params, options) => {
      keys.claim(key);
      return run.ask(key, method, params, options);
    },
    sleep: async (key, ms) => {
      assertDuration(ms);
      keys.claim(key);
      await timers.until(clock.now() + ms, run.signal);
    },
    update: async () => undefined,
    progress: (report) => {
      try {
        run.progress?.(report);
      } catch {
        // The handler only tells how far it is: that nobody can hear it is not its fault.
      }
    },
  };
  const contextFor = async (args: unknown): Promise<TaskContext> => {
    const prepared =
      run.prepareInTask === true
        ? await prepareInTask(run.tool, args, journal, effects, run.caller)
        : (run.prepared ?? null);
    const credentials = (): Promise<unknown> => credentialsOf(run.credentials);
    return makeContext(journal, effects, clock, { caller: run.caller, credentials }, prepared);
  };
  const end = await runToEnd(run.tool, run.arguments, contextFor, maxBodyBytes);
  return end.outcome;
}
