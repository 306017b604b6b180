import { HeldRun } from "../runtime/execution/held-run.ts";
import { makeContext, type CallContext } from "../runtime/execution/make-context.ts";
import { prepareInTask, preparedKey } from "../runtime/execution/prepare-in-task.ts";
import { isSince } from "../runtime/execution/task-version.ts";
import { TaskLines } from "../runtime/journal/task-lines.ts";
import { nextTurn } from "../runtime/next-turn.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { Timers } from "../runtime/timers.ts";
import { taskCaller } from "../runtime/tool/caller.ts";
import { credentialsOf } from "../runtime/tool/credentials.ts";
import { runToEnd, type HandlerEnd } from "../runtime/tool/run-to-end.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import { validateArguments } from "../runtime/tool/tool-outcome.ts";
import type { Tool } from "../runtime/tool/tool.ts";
import { runVersions } from "../runtime/tool/tool-versions.ts";
import { UnreadableTasks } from "../runtime/unreadable-tasks.ts";
import type { JournalRecording } from "../store/export-journal.ts";
import { encodeJournalKey } from "../task/journal.ts";
import { RecordedStore } from "./recorded-store.ts";
import { ReplayedCalls, ReplayedRun, type ChangedKey } from "./replayed-calls.ts";

export interface ReplayTerms {
  /** How long the handler may do its own work before it counts as stopped (ms). */
  readonly settleMs: number;
  readonly credentials: unknown;
}

/** How far a handler got with a recording. */
export interface Replay {
  /** Keys that the recording does not have, in the order in which the handler reached them. */
  readonly added: readonly string[];
  /** Recorded keys that the handler did not reach. */
  readonly unreached: readonly string[];
  readonly changed: readonly ChangedKey[];
  /** Why the arguments were refused. */
  readonly refused?: string;
  /** `busy`: it waits for nothing from the task, and does not end. */
  readonly end: HandlerEnd | "waits" | "busy";
}

/** Turns of the event loop after which a handler that waits for nothing else is done. */
const quietTurns = 25;

const ignore = (): void => undefined;

/**
 * Runs the handler of a recorded task like an attempt of the runtime, on the recorded journal. Anything that is not in the journal does not
 * begin: there the handler waits forever, and is dropped.
 */
export async function replayHandler(
  { registry, options, clock }: Runtime,
  tool: Tool,
  recording: JournalRecording,
  { settleMs, credentials }: ReplayTerms,
): Promise<Replay> {
  const recorded = recording.entries.map(({ key }) => key);
  const prepared = encodeJournalKey(preparedKey);
  const preparesFirst = recording.prepareInTask === true && !recorded.includes(prepared);
  const validated = await validateArguments(tool, recording.arguments);
  if (!validated.ok) {
    const end = { outcome: validated.outcome, threw: false } as const;
    return { added: [], unreached: recorded, changed: [], refused: validated.problem, end };
  }
  const store = new RecordedStore(recording, preparesFirst);
  const { task: record, entries } = store;
  const { origin, prepared: preparedBefore } = await store.request();
  const timers = new Timers(clock);
  const services = {
    store,
    registry,
    options,
    clock,
    onError: ignore,
    unreadable: new UnreadableTasks(ignore),
    webhooks: [],
  };
  const { id: taskId, wireId, attempt } = record;
  const { maxBodyBytes } = options;
  const lines = new TaskLines({ limits: options });
  const versions = runVersions(tool, record);
  const run = new ReplayedRun({ taskId, wireId, attempt, versions, maxBodyBytes, lines });
  const hooks = {
    onSweepAt: ignore,
    onCalled: ignore,
    onRest: ignore,
    onStir: ignore,
    onUnreadable: ignore,
    onRetry: ignore,
    onEnd: ignore,
  };
  const held = new HeldRun({ services, timers, run, record, tool, origin, entries, ...hooks });
  const calls = new ReplayedCalls();
  const call: CallContext = {
    caller: taskCaller(record.principal, origin.caller),
    credentials: () => credentialsOf(credentials),
  };
  const contextFor = async (args: unknown): Promise<TaskContext> => {
    const value =
      origin.prepareInTask === true
        ? await prepareInTask(tool, args, run, calls.watch(held.effects), clock, call.caller)
        : preparedBefore;
    const context = makeContext(run, held.effects, clock, call, value);
    return calls.watch({ ...context, version: versionAnswer(run, context, recorded) });
  };
  const unreached = (): readonly string[] => recorded.filter((key) => !run.reached.has(key));
  let end: HandlerEnd | undefined;
  const running = runToEnd(tool, recording.arguments, contextFor, maxBodyBytes).then((handlerEnd) => {
    end = handlerEnd;
  });
  // A handler that had ended continues to its end, even beside a call that had lost a race.
  const waits = (): boolean => !hasEnded(recording) && calls.open > 0 && unreached().length === 0;
  const stop = (): boolean => end !== undefined || waits();
  await untilSettled(calls, running, stop, (done) => clock.after(settleMs, done, "keep alive"));
  run.life.change("park"); // from here on the handler writes nothing, and none of its calls reject
  run.life.drop();
  timers.close();
  return {
    added: [...run.reached].filter((key) => key !== prepared && !recorded.includes(key)),
    unreached: unreached(),
    changed: calls.changed,
    end: end ?? (calls.open > 0 ? "waits" : "busy"),
  };
}

/** The handler itself ended these tasks. Other errors mean that the task expired or could not continue. */
export function hasEnded({ outcome }: JournalRecording): boolean {
  return outcome?.kind === "result" || outcome?.kind === "error_result";
}

/** What the record alone decides is decided even if the journal has no answer yet: a handler that asks for a version continues. */
function versionAnswer(
  run: ReplayedRun,
  context: TaskContext,
  recorded: readonly string[],
): TaskContext["version"] {
  return async (key, since) => {
    if (recorded.includes(encodeJournalKey(key))) return context.version(key, since);
    run.pass(key);
    return isSince(run.versions, key, since);
  };
}

/** Resolves when nothing more will happen: at the end, if `stop` says so at rest, or if nothing moves for a while. */
async function untilSettled(
  calls: ReplayedCalls,
  running: Promise<void>,
  stop: () => boolean,
  after: (done: () => void) => () => void,
): Promise<void> {
  for (;;) {
    for (let turn = 0, moves = calls.moves; turn < quietTurns; turn++) {
      await nextTurn();
      if (moves !== calls.moves) [turn, moves] = [0, calls.moves];
    }
    if (stop()) return;
    const before = calls.moves;
    let callOff = ignore;
    const moved = new Promise<void>((resolve) => calls.onMove(resolve));
    const late = new Promise<"late">((resolve) => (callOff = after(() => resolve("late"))));
    const first = await Promise.race([moved, running, late]);
    callOff();
    if (first === "late" && calls.moves === before) return;
  }
}
