import type { TaskChanges } from "../../task/command.ts";
import { expiresAt } from "../../task/expiry.ts";
import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import type { JournalEntry } from "../../task/journal.ts";
import { errorOutcome, type JsonRpcError, type Outcome } from "../../task/outcome.ts";
import type { Origin, Progress, TaskRecord, TaskRequest } from "../../task/record.ts";
import { isTerminal } from "../../task/status.ts";
import type { HeldTask } from "../journal/held-task.ts";
import { Run } from "../journal/run.ts";
import { HandlerUpdates } from "./handler-updates.ts";
import type { LeakedHandlers } from "./leaked-handlers.ts";
import { LifeLimit } from "./life-limit.ts";
import { loadTask, type LoadedTask } from "./load-task.ts";
import { makeContext, type CallContext, type ContextEffects } from "./make-context.ts";
import { prepareInTask } from "./prepare-in-task.ts";
import { ProgressReports } from "./progress-reports.ts";
import { Questions } from "./questions.ts";
import { taskCaller } from "../tool/caller.ts";
import type { TaskHolder } from "../changed-tasks.ts";
import type { Credentials } from "../tool/credentials.ts";
import { runToEnd, type HandlerEnd } from "../tool/run-to-end.ts";
import type { Services } from "../services.ts";
import { sleep } from "./sleep.ts";
import type { Slots } from "../dispatch/slots.ts";
import type { TaskContext } from "../tool/task-context.ts";
import type { Timers } from "../timers.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";

export interface AttemptsSetup {
  readonly services: Services;
  readonly slots: Slots;
  readonly timers: Timers;
  readonly leaked: LeakedHandlers;
  readonly credentials: Credentials;
  /** Hears when a task's end of life moves (epoch ms). */
  readonly onSweepAt: (at: number | null) => void;
}

interface Live {
  readonly run: Run;
  readonly task: HeldTask;
}

/** A run that holds its task. */
export interface HeldRun {
  readonly effects: ContextEffects;
  /** Settles the task with how the handler ended, and forgets the run. Never rejects. */
  readonly end: (end: HandlerEnd) => Promise<void>;
}

const cannotRun = "The stored data of this task is damaged, so the task cannot run.";

/** The runs of this process that hold tasks: starts them, settles their tasks, and shows them what happens to their tasks. */
export class Attempts implements TaskHolder {
  readonly #setup: AttemptsSetup;
  readonly #services: Services;
  readonly #live = new Map<string, Live>();
  /** The newest records of tasks whose attempt is still to begin; undefined for one that was deleted. */
  readonly #loading = new Map<string, TaskRecord | undefined>();
  readonly #closing = new AbortController();
  #draining = false;
  #stopped = false;

  constructor(setup: AttemptsSetup) {
    this.#setup = setup;
    this.#services = setup.services;
  }

  /**
   * Runs the handler of a task that was started under `task.token`; its slot is taken already. A task that was made just now
   * comes with its request, which is read of any other one.
   */
  async run(task: TaskRecord, tool: Tool, request?: TaskRequest): Promise<void> {
    let loaded: LoadedTask;
    this.#loading.set(task.id, task);
    try {
      loaded = await loadTask(task, this.#services, this.#closing.signal, request);
    } catch (error) {
      this.#loading.delete(task.id);
      this.#setup.credentials.forget(task.id);
      this.#setup.slots.give();
      if (this.#closing.signal.aborted) return; // the next server finds the task running
      if (isUnreadable(error)) await this.#failUnreadable(task, error);
      else this.#services.onError(error);
      return;
    }
    const now = this.#loading.get(task.id);
    this.#loading.delete(task.id);
    if (this.#stopped) return; // the next server finds it running
    if (now?.token !== task.token) {
      this.#setup.slots.give(); // it has ended meanwhile
      this.#setup.credentials.forget(task.id);
      return;
    }
    const { origin, journal } = loaded;
    const { id: taskId, wireId, attempt } = task;
    const { maxBodyBytes } = this.#services.options;
    const { slots, leaked } = this.#setup;
    const run = new Run({ taskId, wireId, attempt, maxBodyBytes, slots });
    const { effects, end } = this.hold(run, task, tool, origin, journal);
    this.saw(task.id, now);
    const unwatch = leaked.watch(run, tool, () => this.forget(run));
    const call: CallContext = {
      caller: taskCaller(task.principal, origin.caller),
      credentials: () => this.#setup.credentials.of(task.id),
    };
    const contextFor = async (validated: unknown): Promise<TaskContext> => {
      const prepared =
        origin.prepareInTask === true
          ? await prepareInTask(tool, validated, run, effects, call.caller)
          : loaded.prepared;
      return makeContext(run, effects, this.#services.clock, call, prepared);
    };
    void runToEnd(tool, loaded.arguments, contextFor, maxBodyBytes).then((handlerEnd) => {
      unwatch();
      return end(handlerEnd);
    });
  }

  /** From now on the run, whose handler may run already, holds its task, with what earlier attempts journalled. */
  hold(
    run: Run,
    record: TaskRecord,
    tool: Tool,
    origin: Origin,
    entries: readonly JournalEntry[] = [],
  ): HeldRun {
    const { clock, options } = this.#services;
    const { timers } = this.#setup;
    const { generation } = record;
    const task = run.hold(this.#services, record, entries);
    if (this.#draining) run.drain();
    this.#live.set(record.id, { run, task });
    const updates = new HandlerUpdates(({ ttlMs, ...changes }) => {
      if (ttlMs === undefined) return this.#update(task, changes);
      const from = generation === "sep-1686" ? "terminal" : "created";
      return this.#update(task, { ...changes, expiry: { from, ms: ttlMs } }, limit);
    });
    const limit = new LifeLimit(endOfLife(record), () => updates.written());
    const timeoutMs = tool.inputTimeoutMs === undefined ? options.inputTimeoutMs : tool.inputTimeoutMs;
    const asked = { origin, generation, maxInputs: options.maxInputsPerTask, timeoutMs };
    const questions = new Questions({ run, task, limit, clock, timers, ...asked });
    const report = (progress: Progress): Promise<void> => this.#update(task, { progress });
    const reports = new ProgressReports(report, timers, clock, run.signal);
    return {
      effects: {
        ask(...question) {
          updates.flush(); // clients see the question with the status text that was set before it
          return questions.ask(...question);
        },
        sleep: (key, ms) => sleep(run, task, limit, timers, clock, key, ms),
        update: (changes) => task.journal.updating(updates.update(changes)),
        progress: (progress) => reports.report(progress),
      },
      end: (end) => this.#end(run, task, updates, end),
    };
  }

  held(): Iterable<string> {
    return [...this.#live.keys(), ...this.#loading.keys(), ...this.#setup.credentials.held()];
  }

  isBehind(id: string, version: number): boolean {
    const live = this.#live.get(id);
    if (live !== undefined) return live.task.isBehind(version);
    if (this.#loading.has(id)) return version > (this.#loading.get(id)?.version ?? 0);
    return this.#setup.credentials.isBehind(id, version);
  }

  saw(id: string, task: TaskRecord | undefined): void {
    this.#live.get(id)?.task.saw(task);
    const loading = this.#loading.get(id);
    if (loading !== undefined && (task === undefined || task.version > loading.version)) {
      this.#loading.set(id, task);
    }
    if (task === undefined || isTerminal(task.state)) this.#setup.credentials.forget(id);
  }

  /** What this process itself has made of a task, be it with the answers to these questions: then nothing has to be read. */
  changed(task: TaskRecord, answered?: readonly string[]): void {
    if (answered !== undefined) this.lookAtQuestions(task.id, answered);
    this.saw(task.id, task);
  }

  /** Questions of the task, or any of them, have ended or cannot be read any more: its handler is to hear of that. */
  lookAtQuestions(id: string, keys?: readonly string[]): void {
    this.#live.get(id)?.task.journal.answered(keys);
  }

  /** Gives up what cannot be read: a store that fails must not hold up a stop. */
  stopLoading(): void {
    this.#closing.abort(new HoldfastError("stopping", "The server stops."));
  }

  /** Releases tasks whose handlers come to their next journalled call, or wait, from now on. */
  drain(): void {
    this.#draining = true;
    for (const { run } of this.#live.values()) run.drain();
  }

  /** Drains until `deadline` resolves, and then releases the rest. */
  async stop(deadline: Promise<void>): Promise<void> {
    this.drain();
    const gone = [...this.#live.values()].map(({ run }) => run.life.gone);
    await Promise.race([Promise.all(gone), deadline]);
    this.#stopped = true;
    this.#setup.leaked.stop();
    await Promise.all([...this.#live.values()].map(({ run }) => run.release()));
  }

  /** The run needs its task no more. A later one may hold that here, after it was taken from this run. */
  forget(run: Run): void {
    run.life.leave();
    if (this.#live.get(run.taskId)?.run !== run) return;
    this.#live.delete(run.taskId);
    this.#setup.credentials.forget(run.taskId);
  }

  async #update(task: HeldTask, changes: TaskChanges, limit?: LifeLimit): Promise<void> {
    const result = await task.write("update", { changes });
    if (!result.ok) return;
    limit?.move(endOfLife(result.task));
    this.#setup.onSweepAt(result.task.sweepAt);
  }

  async #end(run: Run, task: HeldTask, updates: HandlerUpdates, end: HandlerEnd): Promise<void> {
    run.end();
    try {
      if (run.life.state === "ended") await updates.written(); // the last status text stays with the ended task
      if (run.life.state === "ended") await this.#settle(run, task, end);
    } catch (error) {
      if (!isUnreadable(error)) this.#services.onError(error); // the task has reported that
    } finally {
      this.forget(run);
    }
  }

  /** Nothing can run what cannot be read: the task fails, unless its record cannot be read either. */
  async #failUnreadable({ id, token }: TaskRecord, problem: HoldfastError): Promise<void> {
    if (token === null) return;
    const { store, clock, onError } = this.#services;
    this.#services.unreadable.report(id, problem);
    const { signal } = this.#closing;
    const failure = {
      outcome: errorOutcome({ code: -32603, message: cannotRun }),
      statusMessage: cannotRun,
    };
    const settle = () => store.write({ type: "settle", now: clock.now(), id, token, ...failure });
    try {
      await untilStoreAnswers(settle, this.#services, signal);
    } catch (error) {
      if (!signal.aborted && !isUnreadable(error)) onError(error);
    }
  }

  /** The first settlement wins; one that comes too late changes nothing (guarantee 2). */
  async #settle(run: Run, task: HeldTask, { outcome, threw }: HandlerEnd): Promise<void> {
    const { store, clock } = this.#services;
    const cancel = () => store.write({ type: "cancel", now: clock.now(), id: task.id });
    try {
      if (threw && run.life.cancelRequested) await task.persist(cancel);
      else await task.write("settle", { outcome, ...diagnostics(outcome) });
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "fenced") throw error;
    }
  }
}

/** A failed task says why in its status text too. */
function diagnostics(outcome: Outcome): { statusMessage?: string } {
  if (outcome.kind !== "error") return {};
  const { message } = JSON.parse(outcome.body) as JsonRpcError;
  return { statusMessage: message };
}

/** Not the time of a cancel that its caller may take back. */
function endOfLife({ expiry, createdAt, runUntil }: TaskRecord): number | null {
  return expiresAt(expiry, createdAt, runUntil);
}
