import { ProtocolError } from "@modelcontextprotocol/server";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Progress, TaskRecord } from "../../task/record.ts";
import { HoldfastError, isFault, isStoreRefusal, isUnreadable } from "../../task/fault.ts";
import { attemptBegins, attemptFailed, endingOf, type Ending } from "../../task/status-text.ts";
import type { NextRoundOfLoop } from "../journal/held-task.ts";
import { subject } from "../events/eventful-write.ts";
import type { AddressedWait } from "../event-urls.ts";
import { Questions } from "../questions/questions.ts";
import type { Services } from "../services.ts";
import { attemptOutcome } from "../telemetry/telemetry.ts";
import { failureOf, type HandlerEnd, stackOf } from "../tool/tool-outcome.ts";
import { describeThrown, isNonRetryable } from "../tool/tool-errors.ts";
import { longWithoutEntryMs, type Tool, ruleAllows } from "../tool/tool.ts";
import { Calls } from "./call-tool.ts";
import { Attempt } from "./attempt.ts";
import { type HandlerChanges, logBody } from "./handler-updates.ts";
import type { ContextEffects } from "./make-context.ts";
import { neverReached, neverReachedEvent, neverReachedText, type NeverReached } from "./never-reached.ts";
import { waitForEvent } from "./wait-for-event.ts";
import { deadlineAfter, retryPause } from "../clock.ts";
import { cutText } from "../../task/stored-text.ts";

/** An attempt as its handler uses it: what it does with the task besides its steps, and how the task ends with it. */
export class HeldRun extends Attempt implements ContextEffects {
  readonly #questions = new Questions(this);
  readonly #calls = new Calls(this);

  ask(...question: Parameters<ContextEffects["ask"]>): Promise<unknown> {
    this.reports.flush(); // clients see the question with the status text and the progress before it
    return this.#questions.ask(...question);
  }

  call(...call: Parameters<ContextEffects["call"]>): Promise<CallToolResult> {
    return this.#calls.call(...call);
  }

  waitForEvent(...wait: Parameters<ContextEffects["waitForEvent"]>): Promise<unknown> {
    return waitForEvent(this, ...wait);
  }

  eventUrl(wait: AddressedWait): string {
    return this.services.eventUrls.urlOf(wait);
  }

  nextRound(next: NextRoundOfLoop): Promise<void> {
    return this.run.nextRound(next, () => this.reports.said());
  }

  update(changes: HandlerChanges): Promise<void> {
    return this.#underWay(this.reports.update(changes));
  }

  append(...line: Parameters<ContextEffects["append"]>): Promise<void> {
    return this.#underWay(this.run.setup.lines.append(...line));
  }

  progress(progress: Progress): void {
    this.reports.progress(progress);
  }

  /** Changes that the handler may wait for, and that are not in the journal. */
  #underWay(write: Promise<void>): Promise<void> {
    this.task.rests.busyWhile(write);
    return this.task.journal.updating(write);
  }

  /** Removes the failure of the last attempt from what clients see. */
  sayAttempt(): void {
    const { record, tool } = this;
    const statusMessage = tool.retry && attemptBegins(record, tool.retry.attempts);
    if (statusMessage !== undefined) this.reports.update({ statusMessage }).catch(() => undefined);
  }

  /**
   * Settles the task with the handler's end, or returns it to run again. `gone` resolves when all of the handler's code has ended. Never
   * rejects.
   */
  async end(end: HandlerEnd, gone: Promise<void>): Promise<void> {
    const { run } = this;
    const { events } = this.services;
    const { token } = this.record;
    if (!end.threw && end.refused !== undefined && this.mayHaveAccepted) {
      const { tool } = this;
      const problem = `The arguments of the task were accepted when it was created, but "${tool.name}" now refuses them: ${end.refused}`;
      run.refuse({ reason: "arguments", problem, issues: end.refused });
    }
    if (run.life.state === "doomed") await run.life.gone; // what it returned counts for nothing
    const retry = this.#retryAfter(end);
    if (retry !== undefined) await this.#endRemaining(gone);
    run.end(end.threw);
    if (this.#wasWithoutEntry(end)) this.services.registry.workedWithoutEntry(this.tool);
    if (end.threw) events?.threw(token, end.error);
    try {
      if (run.life.state === "ended") {
        if (retry === undefined) this.#logEnd(end);
        // What the handler changed stays with the ended task, and so do its log and its output; a text that it set ends.
        await this.reports.written();
      }
      if (run.life.state !== "ended") return;
      if (retry !== undefined && this.livesUntil(retry.until) && !run.life.cancelRequested)
        await this.#retry(retry, end);
      else await this.#settle(end);
    } catch (error) {
      if (isStoreRefusal(error)) this.tell({ type: "fault", problem: error });
      else if (!isUnreadable(error)) this.services.onError(error); // the task has reported that
    } finally {
      events?.forget(token);
      // Unless its outcome was stored.
      run.setup.trace?.end(
        run.life.cancelRequested ? { end: "cancelled" } : { ...attemptOutcome(end), end: "lost" },
      );
      // A handler that keeps running counts as leaked only once its run has ended.
      if (run.signal.aborted) run.life.fence(run.signal.reason);
      this.tell({ type: "ended" });
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
      lines.append(lineSource, "log", this.services.clock.now(), body).catch(() => undefined);
    }
  }

  /** Whether a whole run of the handler took long, and a crash at any time would have lost all of it. */
  #wasWithoutEntry(end: HandlerEnd): boolean {
    const { record, services } = this;
    const { startedAt, attempt } = record;
    if (end.threw || end.refused !== undefined || attempt > 1 || startedAt === null) return false;
    return this.run.keys.all.size === 0 && services.clock.now() - startedAt >= longWithoutEntryMs;
  }

  /** Nothing if the handler did not begin, or stopped because its task is cancelled. */
  #neverReached(end: HandlerEnd): readonly NeverReached[] {
    const { run } = this;
    const isWhole = end.threw ? end.early !== true && !run.life.cancelRequested : end.refused === undefined;
    return isWhole ? neverReached(this.entries, run.keys.all) : [];
  }

  #retryAfter(end: HandlerEnd): HandlerRetry | undefined {
    const { tool, record, services } = this;
    const { life } = this.run;
    if (!end.threw || end.early === true || !life.goesOn("retry") || life.cancelRequested) return undefined;
    return services.inOwnContext(() => handlerRetry(record, tool, end.error, services)); // which asks the author
  }

  /**
   * Tells the remaining code of a handler that threw to end, and waits for it as long as after a cancel: a step must not overlap with
   * itself, and its result is journalled.
   */
  async #endRemaining(gone: Promise<void>): Promise<void> {
    const { clock, options } = this.services;
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
        this.services.onError(error); // what was thrown cannot be shown, and is no reason not to try again
        return this.task.write("retry", { until: retry.until, statusMessage: "The handler threw an error." });
      });
      this.run.setup.trace?.end({ ...attemptOutcome(end), end: "retried" });
      if (result.ok) this.tell({ type: "returned", why: "retry", task: result.task });
    } catch (error) {
      if (!isFenced(error)) throw error;
    }
  }

  /** The first settlement wins; a late one changes nothing (guarantee 2). */
  async #settle(end: HandlerEnd): Promise<void> {
    const { store, clock, events } = this.services;
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
    const { tool, record } = this;
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
