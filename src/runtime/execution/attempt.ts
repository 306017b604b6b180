import type { ListedEntry } from "../../store/store.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { InputMethod, JournalEnd, JournalKey, WaitReason } from "../../task/journal.ts";
import { expiresAt } from "../../task/expiry.ts";
import type { Origin, Progress, TaskChanges, TaskRecord } from "../../task/record.ts";
import type { LineList, LogText } from "../../task/task-line.ts";
import type { TimeSpan } from "../../task/time.ts";
import { deadlineAfter, endOf } from "../clock.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { HeldCommand, OpeningCommandName } from "../journal/piece-writer.ts";
import type { Run } from "../journal/run.ts";
import type { AttemptEvent } from "../journal/run-life.ts";
import type { AddressedWait } from "../event-urls.ts";
import type { LineSource } from "../journal/task-lines.ts";
import type { LimitName } from "../limits/limit-name.ts";
import type { GiveBack, RunLimits } from "../limits/limits.ts";
import type { Ask, CallListener } from "../runtime.ts";
import type { Services } from "../services.ts";
import { encodeError } from "../stored-values.ts";
import type { Timers } from "../timers.ts";
import type { CallContext } from "../tool/received-request.ts";
import type { Tool } from "../tool/tool.ts";
import { waitFor, whenAborted } from "../wait-for.ts";
import { type HandlerChanges, HandlerReports } from "./handler-updates.ts";

/** Something that a handler waits for and others end: a question, a call of another tool, an event. */
export interface OutsideWait<N extends OpeningCommandName> {
  /** As the run has claimed it. */
  readonly key: string;
  /** An earlier attempt's entry with the same key and content that has not ended. */
  readonly entry: ListedEntry | undefined;
  readonly command: N;
  /** The method of a question. */
  readonly method?: InputMethod;
  /** Runs before a new one begins; if it rejects, the wait does not begin. */
  readonly prepare?: () => Promise<void>;
  /** The command that begins it, given its timeout (epoch ms; null: none). */
  readonly begin: (deadlineAt: number | null) => HeldCommand<N>;
  /** The text that needs room in the journal, until it ends. */
  readonly text?: string;
  /** How long it lasts at most, in milliseconds; left out: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Its name in the error if its timeout would be after the task's end, which is a mistake; left out: it then ends with the task. */
  readonly mustEndInTime?: string | undefined;
  /** The error when it times out. */
  readonly late?: () => HoldfastError;
}

const reasons: Readonly<Record<OpeningCommandName, WaitReason>> = {
  open_input: "question",
  call_tool: "call",
  wait_event: "event",
};

/** A step before its next try: one that has failed, or one that looks again at something that is not ready yet. */
export interface PausedStep {
  /** How often it has failed; 0 for one that looks again. */
  readonly tries: number;
  /** The error, in its stored form; null for one that looks again. */
  readonly error: string | null;
  /** When it was first tried in this run (epoch ms). */
  readonly begunAt: number;
  /** What the next look needs to know, as raw JSON. */
  readonly value?: string;
}

/** The task of an attempt. */
export interface HoldTerms {
  /** With which the run begins to hold its task. */
  readonly record: TaskRecord;
  readonly origin: Origin;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  /** The task was created just now, by this process. */
  readonly isNew?: boolean;
  /** Whoever started the attempt hears of what becomes of it. */
  readonly host: AttemptHost;
}

type Held = HoldTerms & { readonly task: HeldTask };

export interface AttemptHost {
  hear(attempt: Attempt, event: AttemptEvent): void;
}

/** Who called a handler that has no task, or none yet, and hears its reports until it has one. */
export interface DirectCaller extends CallListener {
  /** How questions reach the caller of a run that stays without a task. */
  readonly ask?: Ask | undefined;
}

export interface AttemptSetup {
  readonly services: Services;
  readonly timers: Timers;
  readonly run: Run;
  readonly tool: Tool;
  readonly call: CallContext;
  readonly direct?: DirectCaller;
}

/**
 * One run of a handler as its context uses it: the task that it holds, if it has one, and all that the handler waits for and reports. It
 * holds a task from its start, from the first journalled call on, or never: then its waits are in memory only. What always holds:
 *
 * 1. Only the held task writes under the token. Once that is refused, nothing of the attempt is stored any more.
 * 2. A wait is in the journal before it begins, so that a later attempt waits for the rest of it.
 * 3. No wait with a time of its own ends after its task, and none leaves a timer or a listener.
 * 4. The host hears once that the attempt has given up its task: that it was returned, or that it has ended.
 */
export class Attempt {
  readonly services: Services;
  readonly timers: Timers;
  readonly run: Run;
  readonly tool: Tool;
  readonly call: CallContext;
  readonly direct: DirectCaller | undefined;
  readonly reports = new HandlerReports(this);
  readonly limits: RunLimits;
  /** When its task ends at the latest (epoch ms), as far as known. The handler can move it with `task.extend`. */
  endsAt: number | null = null;
  #held: Held | undefined;
  #holdsPermit = false;
  #questions = 0;

  constructor({ services, timers, run, tool, call, direct }: AttemptSetup) {
    this.services = services;
    this.timers = timers;
    this.run = run;
    this.tool = tool;
    this.call = call;
    this.direct = direct;
    this.limits = services.limits.of(run, call.caller.principal);
  }

  /** From now on it holds this task. */
  hold(terms: HoldTerms): void {
    const { services, run, tool } = this;
    const { record: task, entries, host } = terms;
    const parks = tool.park !== false && tool.onCrash !== "fail" && tool.raw !== true;
    const tell = (event: AttemptEvent): void => host.hear(this, event);
    this.#held = { ...terms, task: run.hold({ services, task, entries, parks, tell }) };
    this.endsAt = endOfLife(task);
    this.reports.begin();
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Its task. Throws for one that has none. */
  get held(): Held {
    if (this.#held !== undefined) return this.#held;
    throw new HoldfastError("internal", "A run without a task has no journal.");
  }

  /** A direct call becomes a task now. Rejects with `invalid_request`, which says `why`, for a tool that never runs as one. */
  async becomeTask(why: string): Promise<void> {
    const { promote } = this.run.setup;
    if (promote === undefined) throw this.#refused(why);
    await this.run.checkpoint();
    await promote();
    if (this.#held === undefined) throw new Error("The handler has ended.");
  }

  #refused(why: string): HoldfastError {
    const problem = `Tool "${this.tool.name}" never runs as a task, so ${why}`;
    return new HoldfastError("invalid_request", problem);
  }

  /** An attempt asks all earlier questions again, so its own count is that of its task. Throws `limit_reached` for one too many. */
  countQuestion(): void {
    const { maxInputsPerTask } = this.services.options;
    if (++this.#questions <= maxInputsPerTask) return;
    throw new HoldfastError("limit_reached", `A task can ask at most ${maxInputsPerTask} questions.`);
  }

  tell(event: AttemptEvent): void {
    this.held.host.hear(this, event);
  }

  /** The address that ends a wait for an event. Throws if there is none. */
  eventUrl(wait: AddressedWait): string {
    if (!this.isHeld && this.run.setup.promote === undefined)
      throw this.#refused("it has no addresses for events.");
    return this.services.eventUrls.urlOf(wait); // the run's id becomes the task's
  }

  /** The promise need not be awaited. */
  update(changes: HandlerChanges): Promise<void> {
    return this.#underWay(this.reports.update(changes));
  }

  /** As in `TaskLines`. */
  append(source: LineSource, list: LineList, at: number, body: string): Promise<void> {
    const { lines } = this.run.setup;
    const last = lines.lastOf("log");
    const appended = lines.append(source, list, at, body);
    if (!this.isHeld && lines.lastOf("log") > last)
      this.#tellCaller((caller) => caller.log?.(JSON.parse(body) as LogText));
    return this.#underWay(appended);
  }

  progress(progress: Progress): void {
    this.reports.progress(progress);
    if (!this.isHeld) this.#tellCaller((caller) => caller.progress?.(progress));
  }

  /** Changes that the handler may wait for, and that are not in the journal. */
  #underWay(write: Promise<void>): Promise<void> {
    if (this.#held === undefined) return write;
    const { task } = this.#held;
    task.rests.busyWhile(write);
    return task.journal.updating(write);
  }

  /** A handler must not fail because its report cannot be delivered. */
  #tellCaller(report: (caller: CallListener) => void): void {
    try {
      if (this.direct !== undefined) report(this.direct);
    } catch {
      // As documented.
    }
  }

  /** The handler has changed its task. */
  changed(task: TaskRecord, { expiry }: TaskChanges): void {
    if (expiry !== undefined) this.endsAt = endOfLife(task);
    this.tell({ type: "due", at: task.sweepAt });
  }

  /** Whether others wait for what it has while its handler rests. */
  get isAtLimit(): boolean {
    return this.tool.concurrency !== undefined || this.#holdsPermit;
  }

  /** Waits for a permit for the handler itself. A first wait does not make a lost attempt resumable: the handler has not begun. */
  async takePermit(limit: LimitName): Promise<GiveBack> {
    const giveBack = await this.limits.take("", limit, false);
    this.#holdsPermit = true;
    const { record, task } = this.held;
    if (!record.journalled) await task.beginAfterWait();
    return giveBack;
  }

  /** Whether the task can live until `at` (epoch ms), as far as known. */
  livesUntil(at: number): boolean {
    if (this.endsAt === null) return true;
    return at <= this.services.clock.afterJumps(this.endsAt, this.held.record.createdAt);
  }

  /** The same, including all changes that the handler has made so far. */
  async reaches(at: number): Promise<boolean> {
    if (this.livesUntil(at)) return true;
    await this.reports.changed();
    return this.livesUntil(at);
  }

  /**
   * Rejects with `outlives_task` if the task cannot live until `at` (epoch ms): the wait would never end. It is not journalled, since a
   * replay, which comes later, rejects too.
   */
  async assertReaches(at: number, what: string): Promise<void> {
    await this.reports.changed();
    if (this.livesUntil(at)) return;
    throw new HoldfastError(
      "outlives_task",
      `${what} would end at ${iso(at)}, after its task, which ends at ${iso(this.endsAt ?? at)}. ` +
        "Raise ttlMs or maxRunMs of the tool or the server, or call task.extend first.",
    );
  }

  /** Waits for something that others end, and settles as `decode` does with its end, when it is its turn. */
  async until<N extends OpeningCommandName, T>(
    wait: OutsideWait<N>,
    decode: (end: JournalEnd) => T,
  ): Promise<T> {
    const { run } = this;
    const { task } = this.held;
    const { clock } = this.services;
    const { key, entry, prepare, text, timeoutMs, mustEndInTime } = wait;
    const isNew = entry === undefined;
    // One that is in the journal has its place among the ends from the call on, as in a replay that finds its end there.
    if (isNew || !run.continuesWait()) await run.beginWait(isNew, isNew ? prepare : undefined);
    const stored = entry?.deadlineAt;
    const deadlineAt =
      typeof stored === "number"
        ? clock.afterJumps(stored, entry?.begunAt ?? null)
        : timeoutMs === undefined
          ? null
          : deadlineAfter(clock.now(), timeoutMs);
    if (isNew && deadlineAt !== null && mustEndInTime !== undefined && !this.livesUntil(deadlineAt))
      await this.assertReaches(deadlineAt, mustEndInTime);
    if (isNew && text !== undefined) task.journal.addText(key, text);
    const end = run.whileWaiting(
      reasons[wait.command],
      () => this.#end(wait, deadlineAt),
      deadlineAt ?? undefined,
    );
    return decode(await this.#traced(wait, end));
  }

  /** A call has no span here: its task has its own. */
  #traced<N extends OpeningCommandName>(
    { key, entry, command, method }: OutsideWait<N>,
    end: Promise<JournalEnd>,
  ): Promise<JournalEnd> {
    const { trace } = this.run.setup;
    const { clock } = this.services;
    if (trace === undefined || command === "call_tool") return end;
    const kind = command === "open_input" ? "input" : "event";
    return trace.waiting({ kind, key, method, begunAt: entry?.begunAt ?? clock.now() }, clock, end);
  }

  async #end<N extends OpeningCommandName>(
    { key, entry, command, begin, late }: OutsideWait<N>,
    deadlineAt: number | null,
  ): Promise<JournalEnd> {
    const { run, timers } = this;
    const { task } = this.held;
    run.signal.throwIfAborted();
    const end = task.journal.awaitEnd(key);
    end.promise.catch(() => undefined); // the write below may reject first
    const stopListening = whenAborted(run.signal, () => end.reject(run.signal.reason as Error));
    let cancelTimer = (): void => undefined;
    const giveUp = (error: HoldfastError): void =>
      void task.journal.closeWait(key, encodeError(error, run.setup.maxBodyBytes)).catch(end.reject);
    try {
      if (entry === undefined)
        await task.journal.opening(key, task.writeWithRest<N>(command, begin(deadlineAt)));
      if (deadlineAt !== null && late !== undefined)
        cancelTimer = run.life.holdTimer(
          timers.at(deadlineAt, () => giveUp(late())),
          end.reject,
        );
      return await end.promise;
    } finally {
      cancelTimer();
      stopListening();
    }
  }

  /** Waits for a time, counted from the first attempt, or until a date; a later attempt waits for the rest. */
  async sleep(key: JournalKey, time: TimeSpan | Date): Promise<void> {
    const { run } = this;
    const { clock } = this.services;
    const end = endOf(time, clock.now());
    const claimed = run.claim(key);
    const entry = run.find(claimed, { kind: "sleep" });
    if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, () => undefined);
    const begunAt = entry?.begunAt ?? clock.now();
    const stored = entry?.deadlineAt ?? end;
    const byDate = time instanceof Date;
    const until = byDate ? stored : clock.afterJumps(stored, begunAt);
    await run.beginWait(entry === undefined);
    const task = this.#held?.task;
    if (entry === undefined && !this.livesUntil(until))
      await this.assertReaches(until, `The sleep "${claimed}"`);
    const slept = async (): Promise<void> => {
      if (entry === undefined) await task?.writeWithRest("sleep", { key: claimed, until });
      task?.journal.waits(claimed);
      await this.#waitUntil(until, byDate);
      await task?.journal.endSleep(claimed);
    };
    const sleeping = run.whileWaiting("sleep", slept, until);
    await (run.setup.trace?.waiting({ kind: "sleep", key: claimed, begunAt }, clock, sleeping) ?? sleeping);
  }

  /** The pause of a step is in the journal, so that a later attempt continues it. */
  async pause(key: string, until: number, reason: WaitReason, paused?: PausedStep): Promise<void> {
    const { run } = this;
    const task = this.#held?.task;
    await (paused === undefined ? run.beginWait(false) : run.beginPause());
    const pausing = async (): Promise<void> => {
      if (paused !== undefined) await task?.writeWithRest("retry_step", { key, until, ...paused });
      task?.journal.waits(key);
      await this.#waitUntil(until);
    };
    await run.whileWaiting(reason, pausing, until);
  }

  /** Resolves at a time (epoch ms), unless the handler is dropped from memory before; rejects when it returns, or its signal aborts. */
  #waitUntil(until: number, byDate = false): Promise<void> {
    const { run, timers } = this;
    return waitFor((done, fail) => {
      const cancel = byDate ? timers.byDate(until, done) : timers.at(until, done);
      return run.life.holdTimer(cancel, fail);
    }, run.signal);
  }
}

/** Without the time of a cancel that its caller may take back. */
function endOfLife({ expiry, createdAt, runUntil }: TaskRecord): number | null {
  return expiresAt(expiry, createdAt, runUntil);
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
