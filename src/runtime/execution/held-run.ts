import { ProtocolError } from "@modelcontextprotocol/server";
import type { TaskChanges, Origin, TaskRecord } from "../../task/record.ts";
import { HoldfastError, isFault, isStoreRefusal, isUnreadable } from "../../task/fault.ts";
import { attemptBegins, attemptFailed, endingOf, type Ending } from "../../task/status-text.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { HeldTask, TaskWatcher } from "../journal/held-task.ts";
import { subject } from "../events/eventful-write.ts";
import type { LimitName } from "../limits/limit-name.ts";
import type { GiveBack } from "../limits/limits.ts";
import { endOfLife, LifeLimit } from "../journal/run-life.ts";
import { OutsideWaits } from "../journal/outside-waits.ts";
import type { Run } from "../journal/run.ts";
import { Questions } from "../questions/questions.ts";
import type { Services } from "../services.ts";
import { attemptOutcome } from "../telemetry/telemetry.ts";
import type { Timers } from "../timers.ts";
import { failureOf, type HandlerEnd, stackOf } from "../tool/tool-outcome.ts";
import { describeThrown, isNonRetryable } from "../tool/tool-errors.ts";
import { longWithoutEntryMs, type Tool, ruleAllows } from "../tool/tool.ts";
import { Calls } from "./call-tool.ts";
import { HandlerReports, logBody } from "./handler-updates.ts";
import type { ContextEffects } from "./make-context.ts";
import { neverReached, neverReachedEvent, neverReachedText, type NeverReached } from "./never-reached.ts";
import { durablePauses, sleep } from "./sleep.ts";
import { waitForEvent } from "./wait-for-event.ts";
import { deadlineAfter, retryPause } from "../clock.ts";
import { cutText } from "../../task/stored-text.ts";

export interface HeldRunSetup {
  readonly services: Services;
  readonly timers: Timers;
  readonly run: Run;
  readonly record: TaskRecord;
  readonly tool: Tool;
  readonly origin: Origin;
  /** Journal entries of earlier attempts. */
  readonly entries: readonly ListedEntry[];
  /** The task was created just now, by this process. */
  readonly isNew?: boolean;
  readonly host: AttemptHost;
}

/** Whoever started an attempt hears of what becomes of it. */
export interface AttemptHost {
  /** The handler rests, and its task can be parked. */
  onRest?(held: HeldRun): void;
  /** It has to continue. */
  onStir?(held: HeldRun): void;
  /** Something that the handler needs cannot be read: its task is to end. */
  onFault?(held: HeldRun, problem: HoldfastError): void;
  /** This code cannot continue the task: it was blocked, unless others had taken it. */
  onBlocked?(held: HeldRun, task: TaskRecord | undefined): void;
  /** A round of a loop has ended: the task was returned to the queue, unless others had taken it. */
  onNextRound?(held: HeldRun, task: TaskRecord | undefined): void;
  /** The task's end of life moves (epoch ms). */
  onSweepAt?(at: number | null): void;
  /** The handler's call of a tool is about to create a task, which ends by then (epoch ms). */
  onCalled?(held: HeldRun, child: string, endsBy: number | null): void;
  /** The handler threw, and the task was returned to the queue, unless it has been cancelled meanwhile. */
  onRetry?(held: HeldRun, task: TaskRecord): void;
  /** The results of the run are stored, or nothing more can be. */
  onEnd?(held: HeldRun): void;
}

/** A run that holds its task: what the handler does with the task besides its steps, and how the task ends with the handler. */
export class HeldRun {
  readonly run: Run;
  readonly task: HeldTask;
  readonly effects: ContextEffects;
  readonly #setup: HeldRunSetup;
  readonly #reports: HandlerReports;
  readonly #limit: LifeLimit;
  readonly #waits: OutsideWaits;
  #holdsPermit = false;

  constructor(setup: HeldRunSetup) {
    const { services, timers, run, record, entries, tool, host, origin } = setup;
    this.#setup = setup;
    this.run = run;
    const parks = tool.park !== false && tool.onCrash !== "fail" && tool.raw !== true;
    const watcher: TaskWatcher = {
      onRest: () => host.onRest?.(this),
      onStir: () => host.onStir?.(this),
      onFault: (problem) => host.onFault?.(this, problem),
      onBlocked: (task) => host.onBlocked?.(this, task),
      onNextRound: (task) => host.onNextRound?.(this, task),
    };
    this.task = run.hold({ services, task: record, entries, parks, watcher });
    const onChanged = (changed: TaskRecord, { expiry }: TaskChanges): void => {
      if (expiry !== undefined) this.#limit.endsAt = endOfLife(changed);
      host.onSweepAt?.(changed.sweepAt);
    };
    const { onError } = services;
    this.#reports = new HandlerReports({ run, task: this.task, record, timers, onError, onChanged });
    this.#limit = new LifeLimit(services.clock, record, () => this.#reports.changed());
    const { clock } = services;
    this.#waits = new OutsideWaits({ run, task: this.task, limit: this.#limit, clock, timers });
    const questions = this.#questions();
    const onCalled = (child: string, endsBy: number | null): void => host.onCalled?.(this, child, endsBy);
    const waiting = { run, waits: this.#waits, tool };
    const calls = new Calls({ ...waiting, services, task: this.task, record, origin, onCalled });
    this.effects = {
      ask: (...question) => {
        this.#reports.flush(); // clients see the question with the status text and the progress before it
        return questions.ask(...question);
      },
      call: (...call) => calls.call(...call),
      waitForEvent: (key, name, options) => waitForEvent(waiting, key, name, options),
      eventUrl: (wait) => services.eventUrls.urlOf(wait),
      nextRound: (next) => run.nextRound(next, () => this.#reports.said()),
      sleep: (key, time) => sleep(run, this.task, this.#limit, timers, services.clock, key, time),
      update: (changes) => this.#underWay(this.#reports.update(changes)),
      append: (...line) => this.#underWay(run.setup.lines.append(...line)),
      progress: (progress) => this.#reports.progress(progress),
      report: services.onError,
      onStepRun: services.onStepRun,
      processes: services.processes,
      threads: services.threads,
      running: services.counts?.steps,
      limits: services.limits.of(run, record.principal),
      pauses: durablePauses(run, this.task, this.#limit, timers),
    };
  }

  get tool(): Tool {
    return this.#setup.tool;
  }

  /** The record with which the run began to hold its task. */
  get record(): TaskRecord {
    return this.#setup.record;
  }

  /** When its task ends at the latest (epoch ms), as far as known. */
  get endsAt(): number | null {
    return this.#limit.endsAt;
  }

  /** Whether this process still has a handler that could continue the task. */
  get isServed(): boolean {
    const { services, record } = this.#setup;
    return services.registry.handlerOf(record) !== undefined;
  }

  /**
   * Whether other code may have accepted the arguments before: then it can continue the task. A task that an operator retried repeats
   * those of another, unchecked.
   */
  get #mayHaveAccepted(): boolean {
    const { record, origin, isNew } = this.#setup;
    return record.attempt > 1 || (isNew !== true && (origin.retryOf === undefined || record.parent !== null));
  }

  /** Changes that the handler may wait for, and that are not in the journal. */
  #underWay(write: Promise<void>): Promise<void> {
    this.task.rests.busyWhile(write);
    return this.task.journal.updating(write);
  }

  /** Whether others wait for what it has while its handler rests. */
  get isAtLimit(): boolean {
    return this.tool.concurrency !== undefined || this.#holdsPermit;
  }

  /** Waits for a permit for the handler itself. A first wait does not make a lost attempt resumable: the handler has not begun. */
  async takePermit(limit: LimitName): Promise<GiveBack> {
    const giveBack = await this.effects.limits.take("", limit, false);
    this.#holdsPermit = true;
    if (!this.record.journalled) await this.task.beginAfterWait();
    return giveBack;
  }

  /** Removes the failure of the last attempt from what clients see. */
  sayAttempt(): void {
    const { record, tool } = this.#setup;
    const statusMessage = tool.retry && attemptBegins(record, tool.retry.attempts);
    if (statusMessage !== undefined) this.#reports.update({ statusMessage }).catch(() => undefined);
  }

  /**
   * Settles the task with the handler's end, or returns it to run again. `gone` resolves when all of the handler's code has ended. Never
   * rejects.
   */
  async end(end: HandlerEnd, gone: Promise<void>): Promise<void> {
    const { run } = this;
    const { events } = this.#setup.services;
    const { token } = this.#setup.record;
    if (!end.threw && end.refused !== undefined && this.#mayHaveAccepted) {
      const { tool } = this.#setup;
      const problem = `The arguments of the task were accepted when it was created, but "${tool.name}" now refuses them: ${end.refused}`;
      run.refuse({ reason: "arguments", problem, issues: end.refused });
    }
    if (run.life.state === "doomed") await run.life.gone; // what it returned counts for nothing
    const retry = this.#retryAfter(end);
    if (retry !== undefined) await this.#endRemaining(gone);
    run.end(end.threw);
    if (this.#wasWithoutEntry(end)) this.#setup.services.registry.workedWithoutEntry(this.tool);
    if (end.threw) events?.threw(token, end.error);
    try {
      if (run.life.state === "ended") {
        if (retry === undefined) this.#logEnd(end);
        // What the handler changed stays with the ended task, and so do its log and its output; a text that it set ends.
        await this.#reports.written();
      }
      if (run.life.state !== "ended") return;
      if (retry !== undefined && this.#limit.reaches(retry.until) && !run.life.cancelRequested)
        await this.#retry(retry, end);
      else await this.#settle(end);
    } catch (error) {
      if (isStoreRefusal(error)) this.#setup.host.onFault?.(this, error);
      else if (!isUnreadable(error)) this.#setup.services.onError(error); // the task has reported that
    } finally {
      events?.forget(token);
      // Unless its outcome was stored.
      run.setup.trace?.end(
        run.life.cancelRequested ? { end: "cancelled" } : { ...attemptOutcome(end), end: "lost" },
      );
      // A handler that keeps running counts as leaked only once its run has ended.
      if (run.signal.aborted) run.life.fence(run.signal.reason);
      this.#setup.host.onEnd?.(this);
    }
  }

  /** Whoever reads the log learns what it and the output lack, and what of the journal the handler has not come to. */
  #logEnd(end: HandlerEnd): void {
    const { lineSource } = this.run;
    const { lines } = this.run.setup;
    const { dropped } = lines;
    const lost = this.#neverReached(end);
    const texts = [dropped, lost.length === 0 ? undefined : neverReachedText(lost)];
    for (const text of texts) {
      if (text === undefined) continue;
      const body = logBody("warning", text, undefined, lines.limits.maxLogBytes);
      lines.append(lineSource, "log", this.#setup.services.clock.now(), body).catch(() => undefined);
    }
  }

  /** Whether a whole run of the handler took long, and a crash at any time would have lost all of it. */
  #wasWithoutEntry(end: HandlerEnd): boolean {
    const { record, services } = this.#setup;
    const { startedAt, attempt } = record;
    if (end.threw || end.refused !== undefined || attempt > 1 || startedAt === null) return false;
    return this.run.keys.all.size === 0 && services.clock.now() - startedAt >= longWithoutEntryMs;
  }

  /** Nothing if the handler did not begin, or stopped because its task is cancelled. */
  #neverReached(end: HandlerEnd): readonly NeverReached[] {
    const { run } = this;
    const isWhole = end.threw ? end.early !== true && !run.life.cancelRequested : end.refused === undefined;
    return isWhole ? neverReached(this.#setup.entries, run.keys.all) : [];
  }

  #retryAfter(end: HandlerEnd): HandlerRetry | undefined {
    const { tool, record, services } = this.#setup;
    const { life } = this.run;
    if (!end.threw || end.early === true || !life.goesOn("retry") || life.cancelRequested) return undefined;
    return services.inOwnContext(() => handlerRetry(record, tool, end.error, services)); // which asks the author
  }

  /**
   * Tells the remaining code of a handler that threw to end, and waits for it as long as after a cancel: a step must not overlap with
   * itself, and its result is journalled.
   */
  async #endRemaining(gone: Promise<void>): Promise<void> {
    const { clock, options } = this.#setup.services;
    this.run.life.endAttempt(new HoldfastError("fenced", "The handler threw an error and will run again."));
    const grace = Promise.withResolvers<void>();
    const cancelTimer = clock.after(options.cancelGraceMs, grace.resolve);
    await Promise.race([gone, grace.promise]);
    cancelTimer();
  }

  async #retry(retry: HandlerRetry, end: HandlerEnd): Promise<void> {
    try {
      await this.task.journal.written(); // what steps have returned is not lost to a store that fails for longer than the grace
      const result = await this.task.write("retry", { ...retry, ...stackOf(end) }).catch((error: unknown) => {
        if (!isStoreRefusal(error)) throw error;
        this.#setup.services.onError(error); // what was thrown cannot be shown, and is no reason not to try again
        return this.task.write("retry", { until: retry.until, statusMessage: "The handler threw an error." });
      });
      this.run.setup.trace?.end({ ...attemptOutcome(end), end: "retried" });
      if (result.ok) this.#setup.host.onRetry?.(this, result.task);
    } catch (error) {
      if (!isFenced(error)) throw error;
    }
  }

  #questions(): Questions {
    const { services, tool, origin, record } = this.#setup;
    const { options } = services;
    return new Questions({
      run: this.run,
      waits: this.#waits,
      origin,
      generation: record.generation,
      maxInputs: options.maxInputsPerTask,
      timeoutMs: tool.inputTimeoutMs === undefined ? options.inputTimeoutMs : tool.inputTimeoutMs,
    });
  }

  /** The first settlement wins; a late one changes nothing (guarantee 2). */
  async #settle(end: HandlerEnd): Promise<void> {
    const { store, clock, events } = this.#setup.services;
    const { id } = this.task;
    const { trace } = this.run.setup;
    const cancel = () => store.write({ type: "cancel", now: clock.now(), id });
    try {
      if (end.threw && this.run.life.cancelRequested) {
        await this.task.persist(cancel);
        trace?.end({ end: "cancelled" });
      } else {
        const result = await this.task.write("settle", {
          ...this.#endingAfter(end),
          ...stackOf(end),
          ...(end.threw && { failure: failureOf(end.error, this.run.threwIn(end.error)) }),
        });
        trace?.end(attemptOutcome(end));
        const lost = this.#neverReached(end);
        if (result.ok && lost.length > 0)
          events?.emit({ type: "task.unreached", ...subject(result.task), ...neverReachedEvent(lost) });
      }
    } catch (error) {
      if (!isFenced(error)) throw error;
    }
  }

  /** What a handler threw that could run again names the attempt. */
  #endingAfter(end: HandlerEnd): Ending {
    const { tool, record } = this.#setup;
    const { outcome } = end;
    const wasAttempt = end.threw && end.early !== true && outcome.kind === "error_result";
    if (!wasAttempt || tool.retry === undefined) return endingOf(outcome);
    return endingOf(outcome, attemptFailed(record.failures + 1, tool.retry.attempts));
  }
}

function isFenced(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "fenced";
}

/** A further attempt of a task whose handler threw. */
export interface HandlerRetry {
  /** When it runs again (epoch ms). */
  readonly until: number;
  /** The status text until then. */
  readonly statusMessage: string;
}

/** When to run a task again whose handler threw `error`; undefined if its tool or the error forbids it. */
export function handlerRetry(
  { failures }: Pick<TaskRecord, "failures">,
  { retry }: Pick<Tool, "retry">,
  error: unknown,
  { clock, onError }: Pick<Services, "clock" | "onError">,
): HandlerRetry | undefined {
  const attempt = failures + 1;
  if (retry === undefined || attempt >= retry.attempts || isFinal(error)) return undefined;
  if (retry.on !== undefined && !ruleAllows(retry.on, error, onError)) return undefined;
  return {
    until: deadlineAfter(clock.now(), retryPause(attempt, clock, retry.backoff)),
    statusMessage: cutText(`${attemptFailed(attempt, retry.attempts)}${describeThrown(error)}`),
  };
}

/**
 * Whether the error ends the task, whatever its tool allows: it says so itself, or it is an answer, a mistake, or the end of a wait, which
 * the next attempt would get again.
 */
function isFinal(error: unknown): boolean {
  try {
    return isNonRetryable(error) || isFault(error) || isEndOfWait(error) || ProtocolError.isInstance(error);
  } catch {
    return false;
  }
}

/** A failed question or wait for an event stays in the journal. */
function isEndOfWait(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "input_failed" || error.code === "event_timeout");
}
