import { millisecondsOf, type TimeSpan } from "../task/time.ts";
import type { Registry } from "../runtime/tool/registry.ts";
import type { Prepare, Tool } from "../runtime/tool/tool.ts";
import { toolAtVersion } from "../runtime/tool/tool-config.ts";
import { type HandlerEnd, runToEnd, validateArguments } from "../runtime/tool/tool-outcome.ts";
import { insideOf } from "../server/request.ts";
import type { Tasks } from "../server/tasks.ts";
import type { JournalRecording } from "../store/export-journal.ts";
import { HoldfastError } from "../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../task/option-names.ts";
import type { OutcomeKind } from "../task/outcome.ts";
import { versionOf } from "../task/record.ts";
import { type ChangedKey, RecordedStore, ReplayedCalls, ReplayedRun } from "./recorded-store.ts";
import { Attempt } from "../runtime/execution/attempt.ts";
import { StartedProcesses } from "../runtime/exec/started-processes.ts";
import { makeContext } from "../runtime/execution/make-context.ts";
import { prepareInTask, preparedKey } from "../runtime/execution/prepare-in-task.ts";
import { neverReached, type NeverReached } from "../runtime/execution/never-reached.ts";
import { isSince } from "../runtime/execution/step.ts";
import { ofTask } from "../runtime/journal/run-life.ts";
import { TaskLines } from "../runtime/journal/task-lines.ts";
import { nextTurn } from "../runtime/wait-for.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { ThreadPool } from "../runtime/threads/thread-pool.ts";
import { Timers } from "../runtime/timers.ts";
import type { TaskContext } from "../runtime/tool/task-context.ts";
import { taskCaller } from "../runtime/tool/task-caller.ts";
import { credentialsOf } from "../runtime/tool/received-request.ts";
import { Commits, UnreadableTasks } from "../runtime/observed-store.ts";
import { Lease } from "../runtime/dispatch/lease.ts";
import { ownContext } from "../runtime/own-context.ts";
import { EventUrls } from "../runtime/event-urls.ts";
import { noWaits } from "../runtime/limits/limits.ts";
import { encodeJournalKey } from "../task/journal.ts";

/** Options of `checkReplay`. */
export interface CheckReplayOptions {
  /**
   * How long the handler may do its own work, outside of steps, before the check counts it as stopped, in milliseconds. Default 1,000. A
   * check that finds no problem does not wait for it.
   */
  readonly settleMs?: TimeSpan;
  /** What `task.credentials()` resolves with. Left out, it rejects with `no_credentials`, as after a restart. */
  readonly credentials?: unknown;
}

/** What `checkReplay` found. Keys are in their stored form: an array is its JSON. */
export interface ReplayCheck {
  /** True if this code continues the task in the same way as the recorded code. */
  readonly ok: boolean;
  /** The problems, as sentences for people. Empty if `ok`. */
  readonly problems: readonly string[];
  /**
   * Keys that are not in the recording. Normal after everything recorded, and in parallel with it. A problem if the recorded task had
   * ended, and the handler waits for one of them.
   */
  readonly added: readonly string[];
  /** Recorded keys that the handler no longer reaches: they were renamed, removed, or come after something new. */
  readonly unreached: readonly string[];
  /**
   * Of the unreached keys, those in whose place one new key of the same kind stands: it may be the new name. `task.renamed` says that it is.
   */
  readonly renamed: Readonly<Record<string, string>>;
  /** Keys under which the handler now does something else, which blocks the task. */
  readonly changed: readonly ChangedKey[];
  /** How the run ended: `waits` at a call that is new or has not ended, `busy` with its own work for too long. */
  readonly end: "returned" | "threw" | "waits" | "busy";
  /** How the task would end, if the handler ended: a tool result, or a JSON-RPC error. */
  readonly outcome?: { readonly kind: OutcomeKind; readonly body: unknown };
}

/**
 * Runs the handler of `tasks` that a recorded task would get on its recorded journal, and reports where the handler departs from it. Code
 * in steps does not run, and nothing is asked or waited for: the handler stops forever at the first thing that is not in the journal. Code
 * outside of steps runs, as after a crash. The tasks need not be started, and their store is not used.
 *
 * ```ts
 * const recording = JSON.parse(await readFile("recordings/report.json", "utf8")) as JournalRecording;
 * const { problems } = await checkReplay(tasks, recording);
 * assert.deepEqual(problems, []);
 * ```
 *
 * Rejects with `configuration` for an invalid recording, and for one of a tool, or a newer version of a tool, that `tasks` does not have.
 */
export async function checkReplay(
  tasks: Tasks,
  recording: JournalRecording,
  options: CheckReplayOptions = {},
): Promise<ReplayCheck> {
  assertOptionNames("checkReplay", options, optionNames);
  const { credentials } = options;
  const settleMs = millisecondsOf(options.settleMs ?? 1_000);
  const runtime = insideOf(tasks)?.runtime;
  if (runtime === undefined) throw wrong("checkReplay takes what createTasks returned");
  assertRecording(recording);
  const tool = handlerOf(runtime.registry, recording);
  if (typeof tool === "string") throw wrong(tool);
  const replay = await replayRecording(runtime, tool, recording, { settleMs, credentials });
  const { added, changed, end } = replay;
  const unreached = replay.unreached.map(({ key }) => key);
  const renamed = Object.fromEntries(
    replay.unreached.flatMap(({ key, renamedTo }) => (renamedTo === undefined ? [] : [[key, renamedTo]])),
  );
  const problems = problemsOf(replay, recording, settleMs);
  const found = { ok: problems.length === 0, problems, added, unreached, renamed, changed };
  if (typeof end === "string") return { ...found, end };
  const { kind, body } = end.outcome;
  const outcome = { kind, body: JSON.parse(body) as unknown };
  return { ...found, end: end.threw ? "threw" : "returned", outcome };
}

/** Why nothing of `tasks` continues the recorded task: they have no such tool, or only an older version of it. */
export function missingHandler(tasks: Tasks, recording: JournalRecording): string | undefined {
  assertRecording(recording);
  const runtime = insideOf(tasks)?.runtime;
  const tool = runtime && handlerOf(runtime.registry, recording);
  return typeof tool === "string" ? `${tool}.` : undefined;
}

/** The handler of the tool version that the task began with, as the runtime finds it; or why there is none. */
function handlerOf(registry: Registry, recording: JournalRecording): Tool | string {
  const tool = registry.handlerOf(recording);
  if (tool === undefined) return `These tasks have no tool "${recording.tool}"`;
  const version = versionOf(recording);
  const handler = toolAtVersion(tool, version);
  if (handler !== undefined) return handler;
  return `The recorded task began with version ${version} of tool "${tool.name}", which has version ${tool.version} here: only newer processes continue such a task`;
}

const optionNames: OptionNames<CheckReplayOptions> = { settleMs: true, credentials: true };

function problemsOf(
  { added, unreached, changed, refused, end }: Replay,
  recording: JournalRecording,
  settleMs: number,
): readonly string[] {
  if (refused !== undefined) return [`The recorded arguments are refused: ${refused}`];
  const isEnd = typeof end !== "string";
  return [
    ...changed.map(({ problem }) => problem),
    ...unreached.map(unreachedProblem),
    // A new call that it does not wait for is one that may have lost a race before, too.
    ...(hasEnded(recording) && end === "waits" ? [stillWaits(added)] : []),
    ...(end === "busy"
      ? [
          `The handler did its own work for more than ${settleMs} ms. Move that work into a step, or raise settleMs.`,
        ]
      : []),
    ...(isEnd && end.threw && !mayThrow(recording) ? [`The handler throws: ${textOf(end)}`] : []),
  ];
}

function unreachedProblem({ key, renamedTo }: NeverReached): string {
  const lost = `The handler does not reach "${key}", which is in the journal.`;
  return renamedTo === undefined ? lost : `${lost} Was it renamed to "${renamedTo}"?`;
}

function stillWaits(added: readonly string[]): string {
  if (added.length === 0) return "The recorded task had ended, but the handler still waits.";
  return `The recorded task had ended, but the handler goes on to ${added.map((key) => `"${key}"`).join(", ")}.`;
}

/** A task that ended with an error may have been recorded because of that error. */
function mayThrow({ outcome, state }: JournalRecording): boolean {
  return state === "cancelled" || (outcome !== undefined && outcome.kind !== "result");
}

function textOf({ outcome }: HandlerEnd): string {
  const { message, content } = JSON.parse(outcome.body) as {
    readonly message?: string;
    readonly content?: readonly { readonly text?: string }[];
  };
  return message ?? content?.[0]?.text ?? outcome.body;
}

/** Recordings come from files, which may contain anything. */
function assertRecording(recording: Partial<JournalRecording>): void {
  const isObject = typeof recording === "object" && recording !== null;
  if (isObject && recording.format === "holdfast-journal-1" && Array.isArray(recording.entries)) return;
  throw wrong("checkReplay takes the output of `holdfast journal export`, parsed as JSON");
}

function wrong(problem: string): HoldfastError {
  return new HoldfastError("configuration", `${problem}.`);
}

interface ReplayTerms {
  /** How long the handler may do its own work before it counts as stopped (ms). */
  readonly settleMs: number;
  readonly credentials: unknown;
}

/** How far a handler got with a recording. */
interface Replay {
  /** Keys that the recording does not have, in the order in which the handler reached them. */
  readonly added: readonly string[];
  /** Recorded keys that the handler did not reach. */
  readonly unreached: readonly NeverReached[];
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
async function replayRecording(
  { registry, options, clock }: Runtime,
  tool: Tool,
  recording: JournalRecording,
  { settleMs, credentials }: ReplayTerms,
): Promise<Replay> {
  const recorded = recording.entries.map(({ key }) => key);
  const lost = recorded.map((key) => ({ key }));
  const prepared = encodeJournalKey(preparedKey);
  const preparesFirst = recording.prepareInTask === true && !recorded.includes(prepared);
  const validated = await validateArguments(tool, recording.arguments);
  if (!validated.ok) {
    const end = { outcome: validated.outcome, threw: false } as const;
    return { added: [], unreached: lost, changed: [], refused: validated.problem, end };
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
    commits: new Commits(clock),
    lease: new Lease({}),
    inOwnContext: ownContext(),
    onError: ignore,
    processes: new StartedProcesses({ folder: options.execFolder, store, clock, onError: ignore }),
    threads: new ThreadPool({ onError: ignore }),
    unreadable: new UnreadableTasks(ignore),
    limits: noWaits,
    eventUrls: new EventUrls("https://replay.invalid", { current: new Uint8Array(32), accepted: [] }),
    webhooks: [],
  };
  const run = new ReplayedRun({
    ...ofTask(record, origin, tool, services),
    runsAgain: false, // so that whatever begins first has to mark the task
    lines: new TaskLines({ limits: options }),
  });
  const call = {
    caller: taskCaller(record.principal, origin.caller),
    credentials: () => credentialsOf(credentials),
  };
  const attempt = new Attempt({ services, timers, run, tool, call });
  attempt.hold({ record, origin, entries, host: { hear: ignore } });
  const calls = new ReplayedCalls();
  const given = tool.prepare as Prepare<unknown, unknown> | undefined;
  const prepare: typeof given =
    given &&
    ((args, context) =>
      given(
        args,
        calls.watch(context, (key) => [...preparedKey, encodeJournalKey(key)]),
      ));
  const contextFor = async (args: unknown): Promise<TaskContext> => {
    const value =
      origin.prepareInTask === true ? await prepareInTask(attempt, prepare, args) : preparedBefore;
    const context = makeContext(attempt, value);
    return calls.watch({ ...context, version: versionAnswer(run, context, recorded) });
  };
  const known = new Set([...recorded, prepared]);
  const unreached = (): readonly NeverReached[] => neverReached(entries, run.keys.all);
  let end: HandlerEnd | undefined;
  const running = runToEnd(tool, recording.arguments, contextFor, options.maxBodyBytes).then((handlerEnd) => {
    end = handlerEnd;
  });
  // A handler that had ended continues to its end, even beside a call that had lost a race.
  const waits = (): boolean => !hasEnded(recording) && calls.open > 0 && unreached().length === 0;
  const stop = (): boolean => end !== undefined || waits();
  await untilSettled(calls, running, stop, (done) => clock.after(settleMs, done, "keep alive"));
  run.life.apply("park"); // from here on the handler writes nothing, and none of its calls reject
  run.life.drop();
  timers.close();
  return {
    added: [...run.keys.all].flatMap(([key, kind]) => (kind === undefined || known.has(key) ? [] : [key])),
    unreached: unreached(),
    changed: calls.changed,
    end: end ?? (calls.open > 0 ? "waits" : "busy"),
  };
}

/** The handler itself ended these tasks. Other errors mean that the task expired or could not continue. */
function hasEnded({ outcome }: JournalRecording): boolean {
  return outcome?.kind === "result" || outcome?.kind === "error_result";
}

/** What the record alone decides is decided even if the journal has no answer yet: a handler that asks for a version continues. */
function versionAnswer(
  run: ReplayedRun,
  context: TaskContext,
  recorded: readonly string[],
): TaskContext["version"] {
  return async (key, since) => {
    if (recorded.includes(run.keys.stored(key))) return context.version(key, since);
    run.claim(key); // and begin nothing
    return isSince(run.setup.versions, key, since);
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
    let cancelTimer = ignore;
    const moved = new Promise<void>((resolve) => calls.onMove(resolve));
    const late = new Promise<"late">((resolve) => (cancelTimer = after(() => resolve("late"))));
    const first = await Promise.race([moved, running, late]);
    cancelTimer();
    if (first === "late" && calls.moves === before) return;
  }
}
