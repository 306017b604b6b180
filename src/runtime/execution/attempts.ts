import { HoldfastError, isStoreRefusal, isUnreadable, storeRefused } from "../../task/fault.ts";
import { isUndecrypted } from "../../task/stored-text.ts";
import { errorOutcome, isTerminal } from "../../task/outcome.ts";
import { endingOf } from "../../task/status-text.ts";
import type { TaskRecord, TaskRequest } from "../../task/record.ts";
import type { TaskHolder } from "../changed-tasks.ts";
import { mayHaveBegun } from "../dispatch/recovery.ts";
import type { Slots } from "../dispatch/slots.ts";
import { type AttemptEvent, ofTask } from "../journal/run-life.ts";
import { Run } from "../journal/run.ts";
import { RunTrace } from "../telemetry/telemetry.ts";
import type { Services } from "../services.ts";
import type { Timers } from "../timers.ts";
import { taskCaller } from "../tool/task-caller.ts";
import type { Credentials } from "../tool/received-request.ts";
import type { Tool } from "../tool/tool.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import { whenAborted } from "../wait-for.ts";
import { Attempt, type AttemptHost, type HoldTerms } from "./attempt.ts";
import { endAttempt, sayAttempt } from "./end-attempt.ts";
import {
  type LeakedHandlers,
  linesOf,
  type LoadedTask,
  loadTask,
  runHandler,
  startHandler,
} from "./run-handler.ts";
import { Parking } from "./parking.ts";

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

/** How long an end that the store did not take is not tried again, in ms. */
const pauseAfterErrorMs = 5_000;

const damaged = "The stored data of this task is damaged, so the task cannot run.";

const undecrypted =
  "The stored data of this task cannot be decrypted with the keys of this server, so the task cannot run.";

/** The runs of this process that hold tasks: starts them, settles their tasks, and tells them about changes of their tasks. */
export class Attempts implements TaskHolder, AttemptHost {
  readonly #setup: AttemptsSetup;
  readonly #services: Services;
  readonly #live = new Map<string, Attempt>();
  /** The newest records of tasks whose attempt has not begun yet; undefined for a deleted one. */
  readonly #loading = new Map<string, TaskRecord | undefined>();
  readonly #parking: Parking;
  readonly #closing = new AbortController();
  /** Aborts when all that is held has been given back, and no attempt begins any more. */
  readonly #over = new AbortController();
  #draining = false;

  constructor(setup: AttemptsSetup) {
    this.#setup = setup;
    this.#services = setup.services;
    const { services, timers, onParked } = setup;
    const onDrop = ({ run }: Attempt): void => void this.#live.delete(run.setup.taskId);
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
    if (this.#over.signal.aborted) return this.#giveBack(task);
    let loaded: LoadedTask;
    this.#loading.set(task.id, task);
    try {
      loaded = await this.#load(task, request);
      if (!this.#services.lease.holds) await this.#lookAgain(task.id);
    } catch (error) {
      this.#runNot(task.id);
      if (this.#closing.signal.aborted) return; // it was given back, unless the store failed
      if (isUnreadable(error)) await this.#fail(task, error);
      else this.#services.onError(error);
      return;
    }
    const now = this.#loading.get(task.id);
    if (this.#over.signal.aborted) return; // it was given back
    if (now?.token !== task.token) {
      this.#runNot(task.id); // it has ended meanwhile
      if (now?.state === "cancelled" && mayHaveBegun(now, tool)) this.#setup.onReleased(now);
      return;
    }
    this.#loading.delete(task.id);
    const { origin, entries } = loaded;
    const lines = linesOf(task, loaded, tool, this.#services);
    const { slots, leaked, timers } = this.#setup;
    // Nobody asks for one below another, and one that was made just now is known.
    if (task.parent === null && request === undefined) this.#services.traces?.keep(task.id, origin.trace);
    const trace = RunTrace.ofTask(this.#services.telemetry, task, origin.trace);
    const slotsOfCaller = slots.of(task.principal);
    const run = new Run({
      ...ofTask(task, origin, tool, this.#services, timers),
      lines,
      slots: slotsOfCaller,
      trace,
    });
    const call = {
      caller: taskCaller(task.principal, origin.caller),
      credentials: () => this.#setup.credentials.of(task.id),
      received: this.#setup.credentials.received(task.id),
    };
    const attempt = new Attempt({ services: this.#services, timers, run, tool, call });
    this.hold(attempt, { record: task, origin, entries, isNew: request !== undefined });
    this.saw(task.id, now);
    sayAttempt(attempt);
    const unwatch = leaked.watch(run, tool, () => this.forget(run));
    const { ended, gone } = startHandler(run, () => runHandler(attempt, loaded));
    void gone.then(unwatch);
    void ended.then((end) => endAttempt(attempt, end, gone));
  }

  /** From now on the attempt, whose handler may already run, holds its task. */
  hold(attempt: Attempt, terms: Omit<HoldTerms, "host">): void {
    attempt.hold({ ...terms, host: this });
    this.#live.set(terms.record.id, attempt);
    if (this.#draining) this.#drain(attempt.run);
  }

  hear(attempt: Attempt, event: AttemptEvent): void {
    const { run } = attempt;
    const { record } = attempt.held;
    switch (event.type) {
      case "rests":
        return this.#parking.rests(attempt);
      case "goes on":
        return this.#parking.forget(attempt);
      case "fault":
        return void this.#fail(record, event.problem);
      case "due":
        return this.#setup.onSweepAt(event.at);
      case "calls":
        this.#setup.credentials.share(record.id, event.child);
        return this.#setup.onSweepAt(event.endsBy);
      case "returned":
        this.#letGo(run);
        if (event.task === undefined) return;
        if (event.why === "blocked") this.#setup.onBlocked();
        return this.#setup.onParked(event.task);
      case "ended":
        return this.forget(run);
    }
  }

  /** The tokens under which tasks are held, or about to be. */
  *tokens(): Generator<string> {
    for (const { held } of this.#live.values()) yield held.task.token;
    for (const task of this.#loading.values()) if (typeof task?.token === "string") yield task.token;
  }

  held(): Iterable<string> {
    return [...this.#live.keys(), ...this.#loading.keys(), ...this.#setup.credentials.held()];
  }

  isBehind(id: string, version: number): boolean {
    const live = this.#live.get(id);
    if (live !== undefined) return live.held.task.isBehind(version);
    if (this.#loading.has(id)) return version > (this.#loading.get(id)?.version ?? 0);
    return this.#setup.credentials.isBehind(id, version);
  }

  seen(id: string): number | undefined {
    return this.#live.get(id)?.held.task.seen ?? this.#loading.get(id)?.version;
  }

  saw(id: string, task: TaskRecord | undefined, isUndone = false): void {
    this.#live.get(id)?.held.task.saw(task, isUndone);
    const loading = this.#loading.get(id);
    if (loading !== undefined && (task === undefined || isUndone || task.version > loading.version)) {
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
    this.#live.get(id)?.held.task.journal.ended(keys);
  }

  /** The clock was set back by so much: who waits here does so in memory, and a task that runs ends when it would have ended. */
  setBack(ms: number, end: (id: string, endsAt: number) => Promise<boolean>): void {
    this.#parking.keep();
    const { timers } = this.#setup;
    const now = this.#services.clock.now() + ms;
    for (const { endsAt, held } of this.#live.values()) {
      if (endsAt === null) continue;
      const { id, token } = held.task; // and no more of what may be over long before
      const endOnce = async (): Promise<void> => {
        const live = this.#live.get(id);
        if (live?.held.task.token !== token || live.endsAt !== endsAt) return;
        if (!(await end(id, endsAt))) timers.after(pauseAfterErrorMs, () => void endOnce());
      };
      timers.after(endsAt - now, () => void endOnce());
    }
  }

  /** Stops reading: a store that fails must not delay a stop. */
  stopLoading(): void {
    this.#closing.abort(new HoldfastError("stopping", "The server is stopping."));
  }

  /** From now on, releases tasks when their handlers reach the next journalled call, or wait. */
  drain(): void {
    this.#draining = true;
    for (const { run } of this.#live.values()) this.#drain(run);
  }

  /** Where its handler stops, it never returns. */
  #drain(run: Run): void {
    void run.life.gone.then(() => this.#letGo(run));
    run.drain();
  }

  /** Takes back `drain`, for handlers that begin from now on. */
  goOn(): void {
    this.#draining = false;
  }

  /** The number of tasks that are held here, or about to be. */
  get count(): number {
    return this.#live.size + this.#loading.size;
  }

  /** Returns the tasks that are still held. */
  async release(): Promise<void> {
    const held = [...this.#live.values()].map(({ run }) => run.release());
    const loading = [...this.#loading.values()].map((task) => task && this.#giveBack(task));
    await Promise.all([...held, ...loading]);
  }

  /** Returns a task whose attempt has not begun: that it ends here is no crash, so the next one begins again. */
  async #giveBack({ id, token }: TaskRecord): Promise<void> {
    if (token === null) return;
    const { store, clock, onError } = this.#services;
    const held = { now: clock.now(), id, token };
    try {
      await store.write({ type: "mark", ...held });
      const released = await store.write({ type: "release", ...held });
      if (released.ok) this.saw(id, released.task);
    } catch (error) {
      onError(error);
    }
  }

  /** Drains until `deadline` resolves, and then releases the rest. */
  async stop(deadline: Promise<void>): Promise<void> {
    this.drain();
    await this.#parking.stop(deadline);
    const gone = [...this.#live.values()].map(({ run }) => run.life.gone);
    await Promise.race([Promise.all(gone), deadline]);
    this.#over.abort();
    this.#setup.leaked.stop();
    await this.release();
  }

  /** The run no longer needs its task. A later run may hold the task here, after it was taken from this one. */
  forget(run: Run): void {
    if (this.#letGo(run)) this.#setup.credentials.forget(run.setup.taskId);
  }

  /** The same for a run whose task will run again; its credentials are kept. */
  #letGo(run: Run): boolean {
    run.life.setGone();
    run.setup.trace?.end({ end: "lost" }); // unless it has ended: the handler goes on, and nothing of it counts
    const held = this.#live.get(run.setup.taskId);
    if (held?.run !== run) return false;
    this.#parking.forget(held);
    return this.#live.delete(run.setup.taskId);
  }

  /** A read that does not come on is not waited for after the deadline of a stop. */
  async #load(task: TaskRecord, request: TaskRequest | undefined): Promise<LoadedTask> {
    const loading = loadTask(task, this.#services, this.#closing.signal, request);
    if (request !== undefined) return loading;
    const over = Promise.withResolvers<never>();
    const stopListening = whenAborted(this.#over.signal, () =>
      over.reject(this.#over.signal.reason as Error),
    );
    return Promise.race([loading, over.promise]).finally(stopListening);
  }

  /** The process stood still for so long that the task may be somebody else's by now. */
  async #lookAgain(id: string): Promise<void> {
    const { store, lease } = this.#services;
    const { signal } = this.#closing;
    await untilStoreAnswers(() => lease.hold(), this.#services, signal);
    this.saw(id, await untilStoreAnswers(() => store.get(id), this.#services, signal));
  }

  #runNot(id: string): void {
    this.#loading.delete(id);
    this.#setup.credentials.forget(id);
    this.#setup.slots.give();
  }

  /**
   * A task that cannot be read cannot run: it fails, unless its record cannot be read either. So does one whose attempt wrote what the store
   * will never take: nobody else would end it.
   */
  async #fail({ id, token }: TaskRecord, problem: HoldfastError): Promise<void> {
    if (token === null) return;
    const { store, clock, onError } = this.#services;
    const isRefused = isStoreRefusal(problem);
    if (isRefused) onError(problem);
    else this.#services.unreadable.report(id, problem);
    const { signal } = this.#closing;
    const message = isRefused ? storeRefused : isUndecrypted(problem) ? undecrypted : damaged;
    const ending = endingOf(errorOutcome({ code: -32603, message }));
    const settle = () => store.write({ type: "settle", now: clock.now(), id, token, ...ending });
    try {
      await this.#services.lease.knows([token], untilStoreAnswers(settle, this.#services, signal));
    } catch (error) {
      if (!signal.aborted && !isUnreadable(error)) onError(error);
    }
  }
}

function countedByTool(attempts: Iterable<Attempt>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { tool } of attempts) counts.set(tool.name, (counts.get(tool.name) ?? 0) + 1);
  return counts;
}
