import { HoldfastError, isUnreadable } from "../../task/fault.ts";
import { isUndecrypted } from "../../task/stored-text.ts";
import type { ListedEntry } from "../../store/store.ts";
import { errorOutcome, isTerminal } from "../../task/outcome.ts";
import { endingOf } from "../../task/status-text.ts";
import type { Origin, TaskRecord, TaskRequest } from "../../task/record.ts";
import type { TaskHolder } from "../changed-tasks.ts";
import type { Slots } from "../dispatch/slots.ts";
import { ofTask, Run } from "../journal/run.ts";
import { RunTrace } from "../telemetry/run-trace.ts";
import type { Services } from "../services.ts";
import type { Timers } from "../timers.ts";
import { taskCaller } from "../tool/task-context.ts";
import type { Credentials } from "../tool/received-request.ts";
import type { Tool } from "../tool/tool.ts";
import type { HandlerEnd } from "../tool/tool-outcome.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";
import { HeldRun, type AttemptHost } from "./held-run.ts";
import type { LeakedHandlers } from "./leaked-handlers.ts";
import { linesOf, loadTask, type LoadedTask } from "./load-task.ts";
import type { CallContext } from "./make-context.ts";
import { runHandler } from "./run-handler.ts";
import { withinTime, workLimitOf } from "./within-time.ts";
import { isLost } from "../../store/lost-store.ts";

export interface AttemptsSetup {
  readonly services: Services;
  readonly slots: Slots;
  readonly timers: Timers;
  readonly leaked: LeakedHandlers;
  readonly credentials: Credentials;
  /** Receives tasks whose handlers were dropped from memory. */
  readonly onParked: (task: TaskRecord) => void;
  /** This process could not continue a task, which others may be able to. */
  readonly onBlocked: () => void;
  /** Receives cancelled tasks whose handlers had not begun again. */
  readonly onReleased: (task: TaskRecord) => void;
  /** Called when a task's end of life moves (epoch ms). */
  readonly onSweepAt: (at: number | null) => void;
}

const damaged = "The stored data of this task is damaged, so the task cannot run.";

const undecrypted =
  "The stored data of this task cannot be decrypted with the keys of this server, so the task cannot run.";

/** The runs of this process that hold tasks: starts them, settles their tasks, and tells them about changes of their tasks. */
export class Attempts implements TaskHolder, AttemptHost {
  readonly #setup: AttemptsSetup;
  readonly #services: Services;
  readonly #live = new Map<string, HeldRun>();
  /** The newest records of tasks whose attempt has not begun yet; undefined for a deleted one. */
  readonly #loading = new Map<string, TaskRecord | undefined>();
  readonly #parking: Parking;
  readonly #closing = new AbortController();
  #draining = false;
  #stopped = false;

  constructor(setup: AttemptsSetup) {
    this.#setup = setup;
    this.#services = setup.services;
    const { services, timers, onParked } = setup;
    const onDrop = ({ run }: HeldRun): void => void this.#live.delete(run.taskId);
    this.#parking = new Parking({ services, timers, onDrop, onParked });
  }

  /** The number of handlers that hold tasks, by tool. */
  active(): ReadonlyMap<string, number> {
    return countedByTool(this.#live.values());
  }

  /** The number of these that wait. */
  waiting(): ReadonlyMap<string, number> {
    return countedByTool(this.#parking.waiting);
  }

  /**
   * Runs the handler of a task that was started under `task.token` and has a slot. The request of a new task is passed; for others it is
   * read.
   */
  async run(task: TaskRecord, tool: Tool, request?: TaskRequest): Promise<void> {
    let loaded: LoadedTask;
    this.#loading.set(task.id, task);
    try {
      loaded = await loadTask(task, this.#services, this.#closing.signal, request);
    } catch (error) {
      this.#runNot(task.id);
      if (this.#closing.signal.aborted) return; // the next server finds the task running
      if (isUnreadable(error)) await this.#failUnreadable(task, error);
      else this.#services.onError(error);
      return;
    }
    const now = this.#loading.get(task.id);
    if (this.#stopped) return; // the next server finds it running
    if (now?.token !== task.token) {
      this.#runNot(task.id); // it has ended meanwhile
      if (now?.state === "cancelled" && now.journalled) this.#setup.onReleased(now);
      return;
    }
    this.#loading.delete(task.id);
    const { origin, entries } = loaded;
    const lines = linesOf(task, loaded, tool, this.#services);
    const { slots, leaked, timers } = this.#setup;
    // Nobody asks for one below another, and one that was made just now is known.
    if (task.parent === null && request === undefined) this.#services.traces?.keep(task.id, origin.trace);
    const trace = RunTrace.ofTask(this.#services.telemetry, task, origin.trace);
    const run = new Run({
      ...ofTask(task, origin, tool, this.#services),
      lines,
      slots: slots.of(task.principal),
      limit: workLimitOf(tool, timers),
      trace,
    });
    const held = this.hold(run, task, tool, origin, entries, request !== undefined);
    this.saw(task.id, now);
    held.sayAttempt();
    const unwatch = leaked.watch(run, tool, () => this.forget(run));
    const call: CallContext = {
      caller: taskCaller(task.principal, origin.caller),
      credentials: () => this.#setup.credentials.of(task.id),
      received: this.#setup.credentials.received(task.id),
    };
    const begin = (): Promise<HandlerEnd> => runHandler(run, held, tool, loaded, call, this.#services);
    const running = run.start(begin);
    const gone = running.then(() => run.stepsEnd());
    void gone.then(unwatch);
    void withinTime(running, run, tool).then((end) => held.end(end, gone));
  }

  /** From now on the run, whose handler may already run, holds its task, with earlier attempts' journal entries. */
  hold(
    run: Run,
    record: TaskRecord,
    tool: Tool,
    origin: Origin,
    entries: readonly ListedEntry[] = [],
    isNew = true,
  ): HeldRun {
    const { services, timers } = this.#setup;
    const held = new HeldRun({ services, timers, run, record, tool, origin, entries, isNew, host: this });
    if (this.#draining) run.drain();
    this.#live.set(record.id, held);
    return held;
  }

  onRest(held: HeldRun): void {
    this.#parking.rests(held, held.tool.concurrency !== undefined);
  }

  onStir(held: HeldRun): void {
    this.#parking.forget(held);
  }

  onUnreadable({ record }: HeldRun, problem: HoldfastError): void {
    void this.#failUnreadable(record, problem);
  }

  onBlocked({ run }: HeldRun, task: TaskRecord | undefined): void {
    this.#letGo(run);
    if (task === undefined) return;
    this.#setup.onBlocked();
    this.#setup.onParked(task);
  }

  onSweepAt(at: number | null): void {
    this.#setup.onSweepAt(at);
  }

  onCalled({ run }: HeldRun, child: string, endsBy: number | null): void {
    this.#setup.credentials.share(run.taskId, child);
    this.#setup.onSweepAt(endsBy);
  }

  onRetry({ run }: HeldRun, task: TaskRecord): void {
    this.#letGo(run);
    this.#setup.onParked(task);
  }

  onEnd({ run }: HeldRun): void {
    this.forget(run);
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

  /** This process itself changed a task, and ended the entries with these keys, if given: then nothing has to be read. */
  changed(task: TaskRecord, ended?: readonly string[]): void {
    if (ended !== undefined) this.lookAtEnds(task.id, ended);
    this.saw(task.id, task);
  }

  /** Others have ended entries of the task, or any if no keys are given, or these cannot be read any more: tells its handler. */
  lookAtEnds(id: string, keys?: readonly string[]): void {
    this.#live.get(id)?.task.journal.ended(keys);
  }

  /** Stops reading: a store that fails must not delay a stop. */
  stopLoading(): void {
    this.#closing.abort(new HoldfastError("stopping", "The server is stopping."));
  }

  /** From now on, releases tasks when their handlers reach the next journalled call, or wait. */
  drain(): void {
    this.#draining = true;
    for (const { run } of this.#live.values()) run.drain();
  }

  /** Drains until `deadline` resolves, and then releases the rest. */
  async stop(deadline: Promise<void>): Promise<void> {
    this.drain();
    await this.#parking.stop(deadline);
    const gone = [...this.#live.values()].map(({ run }) => run.life.gone);
    await Promise.race([Promise.all(gone), deadline]);
    this.#stopped = true;
    this.#setup.leaked.stop();
    await Promise.all([...this.#live.values()].map(({ run }) => run.release()));
  }

  /** The run no longer needs its task. A later run may hold the task here, after it was taken from this one. */
  forget(run: Run): void {
    if (this.#letGo(run)) this.#setup.credentials.forget(run.taskId);
  }

  /** The same for a run whose task will run again; its credentials are kept. */
  #letGo(run: Run): boolean {
    run.life.setGone();
    run.trace?.end({ end: "lost" }); // unless it has ended: the handler goes on, and nothing of it counts
    const held = this.#live.get(run.taskId);
    if (held?.run !== run) return false;
    this.#parking.forget(held);
    return this.#live.delete(run.taskId);
  }

  #runNot(id: string): void {
    this.#loading.delete(id);
    this.#setup.credentials.forget(id);
    this.#setup.slots.give();
  }

  /** A task that cannot be read cannot run: it fails, unless its record cannot be read either. */
  async #failUnreadable({ id, token }: TaskRecord, problem: HoldfastError): Promise<void> {
    if (token === null) return;
    const { store, clock, onError } = this.#services;
    this.#services.unreadable.report(id, problem);
    const { signal } = this.#closing;
    const message = isUndecrypted(problem) ? undecrypted : damaged;
    const ending = endingOf(errorOutcome({ code: -32603, message }));
    const settle = () => store.write({ type: "settle", now: clock.now(), id, token, ...ending });
    try {
      await untilStoreAnswers(settle, this.#services, signal);
    } catch (error) {
      if (!signal.aborted && !isUnreadable(error)) onError(error);
    }
  }
}

function countedByTool(runs: Iterable<HeldRun>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { tool } of runs) counts.set(tool.name, (counts.get(tool.name) ?? 0) + 1);
  return counts;
}

/** How long a waiting handler stays in memory, since it may hold much of it. */
const longestMs = 600_000;

/** The same for a tool with a limit, where another task may wait for its place. */
const longestAtLimitMs = 1_000;

export interface ParkingSetup {
  readonly services: Services;
  readonly timers: Timers;
  /** The run is about to be dropped from memory: it no longer holds its task. */
  readonly onDrop: (held: HeldRun) => void;
  /** Receives tasks that were returned to the queue, or that others ended or took before that. */
  readonly onParked: (task: TaskRecord) => void;
}

/** The waiting handlers. Above a number, and after a while, they are dropped from memory; then only their rows remain. */
export class Parking {
  readonly #setup: ParkingSetup;
  /** When each of them began to rest, by the time elapsed, longest first. */
  readonly #resting = new Map<HeldRun, number>();
  /** Cancels the timers of those of a tool with a limit. */
  readonly #atLimit = new Map<HeldRun, () => void>();
  readonly #writes = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #cancelTimer: (() => void) | undefined;

  constructor(setup: ParkingSetup) {
    this.#setup = setup;
  }

  get waiting(): Iterable<HeldRun> {
    return this.#resting.keys();
  }

  /** The handler rests; its tool may have a limit. */
  rests(held: HeldRun, isAtLimit: boolean): void {
    if (this.#closing.signal.aborted) return;
    const { services, timers } = this.#setup;
    if (isAtLimit && !this.#atLimit.has(held)) {
      this.#atLimit.set(
        held,
        timers.after(longestAtLimitMs, () => this.#drop(held)),
      );
    }
    this.#resting.delete(held); // else it would keep its place
    this.#resting.set(held, services.clock.elapsed());
    if (this.#resting.size > services.options.maxParkedFrames) this.#dropFirst();
    this.#arm();
  }

  /** It has to continue, or has ended. */
  forget(held: HeldRun): void {
    this.#resting.delete(held);
    this.#atLimit.get(held)?.();
    this.#atLimit.delete(held);
  }

  /** Parks no more. Resolves when writes in progress have ended, or when `deadline` has. */
  async stop(deadline: Promise<void>): Promise<void> {
    this.#cancelTimer?.();
    for (const held of [...this.#atLimit.keys(), ...this.#resting.keys()]) this.forget(held);
    this.#closing.abort(); // what a store that fails has not taken, the next start parks
    await Promise.race([Promise.all(this.#writes), deadline]);
  }

  #arm(): void {
    const [since] = this.#resting.values();
    if (since === undefined || this.#cancelTimer !== undefined) return;
    const { services, timers } = this.#setup;
    this.#cancelTimer = timers.after(since + longestMs - services.clock.elapsed(), () => {
      this.#cancelTimer = undefined;
      this.#dropOld();
      this.#arm();
    });
  }

  #dropOld(): void {
    const now = this.#setup.services.clock.elapsed();
    for (const [held, since] of this.#resting) {
      if (since + longestMs > now) break;
      this.#drop(held);
    }
  }

  #dropFirst(): void {
    const [first] = this.#resting.keys();
    if (first !== undefined) this.#drop(first);
  }

  #drop(held: HeldRun): void {
    this.forget(held);
    if (!held.run.canPark) return; // it is about to work, and comes back when it rests again
    if (!held.isServed) return; // its tool was removed: dropped, it could not come back
    this.#setup.onDrop(held);
    const write = this.#park(held).finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  async #park({ run }: HeldRun): Promise<void> {
    const { signal } = this.#closing;
    try {
      const task = await run.park(signal);
      if (task !== undefined) this.#setup.onParked(task);
    } catch (error) {
      // A lost store is reported once, not for each of them.
      if (!signal.aborted && !isLost(error)) this.#setup.services.onError(error);
    }
  }
}
