import { ProtocolError } from "@modelcontextprotocol/server";
import type { TaskRecord } from "../../task/record.ts";
import { HoldfastError, isFault, isStoreRefusal, isUnreadable } from "../../task/fault.ts";
import { attemptBegins, attemptFailed, endingOf, type Ending } from "../../task/status-text.ts";
import { subject } from "../events/eventful-write.ts";
import type { Services } from "../services.ts";
import { attemptOutcome } from "../telemetry/telemetry.ts";
import { failureOf, type HandlerEnd, stackOf } from "../tool/tool-outcome.ts";
import { describeThrown, isNonRetryable } from "../tool/tool-errors.ts";
import { longWithoutEntryMs, type Tool, ruleAllows } from "../tool/tool.ts";
import type { Attempt } from "./attempt.ts";
import { logBody } from "./handler-updates.ts";
import { neverReached, neverReachedEvent, neverReachedText, type NeverReached } from "./never-reached.ts";
import { deadlineAfter, retryPause } from "../clock.ts";
import { cutText } from "../../task/stored-text.ts";

/** Removes the failure of the last attempt from what clients see. */
export function sayAttempt({ held, tool, reports }: Attempt): void {
  const statusMessage = tool.retry && attemptBegins(held.record, tool.retry.attempts);
  if (statusMessage !== undefined) reports.update({ statusMessage }).catch(() => undefined);
}

/**
 * Settles the task of an attempt with the end of its handler, or returns it to run again. `gone` resolves when all of the handler's code has
 * ended. Never rejects.
 */
export async function endAttempt(attempt: Attempt, end: HandlerEnd, gone: Promise<void>): Promise<void> {
  const { run, services, tool } = attempt;
  const { token } = attempt.held.record;
  if (!end.threw && end.refused !== undefined && mayHaveAccepted(attempt)) {
    const problem = `The arguments of the task were accepted when it was created, but "${tool.name}" now refuses them: ${end.refused}`;
    run.refuse({ reason: "arguments", problem, issues: end.refused });
  }
  if (run.life.state === "doomed") await run.life.gone; // what it returned counts for nothing
  const retry = retryAfter(attempt, end);
  if (retry !== undefined) await endRemaining(attempt, gone);
  run.end(end.threw);
  if (wasWithoutEntry(attempt, end)) services.registry.workedWithoutEntry(tool);
  if (end.threw) services.events?.threw(token, end.error);
  try {
    if (run.life.state === "ended") {
      if (retry === undefined) logEnd(attempt, end);
      // What the handler changed stays with the ended task, and so do its log and its output; a text that it set ends.
      await attempt.reports.written();
    }
    if (run.life.state !== "ended") return;
    if (retry !== undefined && attempt.livesUntil(retry.until) && !run.life.cancelRequested)
      await writeRetry(attempt, retry, end);
    else await settle(attempt, end);
  } catch (error) {
    if (isStoreRefusal(error)) attempt.tell({ type: "fault", problem: error });
    else if (!isUnreadable(error)) services.onError(error); // the task has reported that
  } finally {
    services.events?.forget(token);
    // Unless its outcome was stored.
    run.setup.trace?.end(
      run.life.cancelRequested ? { end: "cancelled" } : { ...attemptOutcome(end), end: "lost" },
    );
    // A handler that keeps running counts as leaked only once its run has ended.
    if (run.signal.aborted) run.life.fence(run.signal.reason);
    attempt.tell({ type: "ended" });
  }
}

/**
 * Whether other code may have accepted the arguments before: then it can continue the task. A task that an operator retried repeats
 * those of another, unchecked.
 */
function mayHaveAccepted({ held: { record, origin, isNew } }: Attempt): boolean {
  return record.attempt > 1 || (isNew !== true && (origin.retryOf === undefined || record.parent !== null));
}

/** Whoever reads the log learns what it and the output lack, and what of the journal the handler has not come to. */
function logEnd(attempt: Attempt, end: HandlerEnd): void {
  const { run, services } = attempt;
  const { lines } = run.setup;
  const lost = lostKeys(attempt, end);
  for (const text of [lines.dropped, lost.length === 0 ? undefined : neverReachedText(lost)]) {
    if (text === undefined) continue;
    const body = logBody("warning", text, undefined, lines.limits.maxLogBytes);
    lines.append(run.lineSource, "log", services.clock.now(), body).catch(() => undefined);
  }
}

/** Whether a whole run of the handler took long, and a crash at any time would have lost all of it. */
function wasWithoutEntry({ held, services, run }: Attempt, end: HandlerEnd): boolean {
  const { startedAt, attempt } = held.record;
  if (end.threw || end.refused !== undefined || attempt > 1 || startedAt === null) return false;
  return run.keys.all.size === 0 && services.clock.now() - startedAt >= longWithoutEntryMs;
}

/** The keys of its journal that it has not come to. Nothing if the handler did not begin, or stopped because its task is cancelled. */
function lostKeys({ run, held }: Attempt, end: HandlerEnd): readonly NeverReached[] {
  const isWhole = end.threw ? end.early !== true && !run.life.cancelRequested : end.refused === undefined;
  return isWhole ? neverReached(held.entries, run.keys.all) : [];
}

function retryAfter(
  { tool, held: { record }, services, run: { life } }: Attempt,
  end: HandlerEnd,
): HandlerRetry | undefined {
  if (!end.threw || end.early === true || !life.goesOn("retry") || life.cancelRequested) return undefined;
  return services.inOwnContext(() => handlerRetry(record, tool, end.error, services)); // which asks the author
}

/**
 * Tells the remaining code of a handler that threw to end, and waits for it as long as after a cancel: a step must not overlap with
 * itself, and its result is journalled.
 */
async function endRemaining({ services, run }: Attempt, gone: Promise<void>): Promise<void> {
  const { clock, options } = services;
  run.life.endAttempt(new HoldfastError("fenced", "The handler threw an error and will run again."));
  const grace = Promise.withResolvers<void>();
  const cancelTimer = clock.after(options.cancelGraceMs, grace.resolve);
  await Promise.race([gone, grace.promise]);
  cancelTimer();
}

async function writeRetry(attempt: Attempt, retry: HandlerRetry, end: HandlerEnd): Promise<void> {
  const { task } = attempt.held;
  try {
    await task.journal.written(); // what steps have returned is not lost to a store that fails for longer than the grace
    const result = await task.write("retry", { ...retry, ...stackOf(end) }).catch((error: unknown) => {
      if (!isStoreRefusal(error)) throw error;
      attempt.services.onError(error); // what was thrown cannot be shown, and is no reason not to try again
      return task.write("retry", { until: retry.until, statusMessage: "The handler threw an error." });
    });
    attempt.run.setup.trace?.end({ ...attemptOutcome(end), end: "retried" });
    if (result.ok) attempt.tell({ type: "returned", why: "retry", task: result.task });
  } catch (error) {
    if (!isFenced(error)) throw error;
  }
}

/** The first settlement wins; a late one changes nothing (guarantee 2). */
async function settle(attempt: Attempt, end: HandlerEnd): Promise<void> {
  const { run, held } = attempt;
  const { store, clock, events } = attempt.services;
  const { task } = held;
  const { trace } = run.setup;
  try {
    if (end.threw && run.life.cancelRequested) {
      await task.persist(() => store.write({ type: "cancel", now: clock.now(), id: task.id }));
      trace?.end({ end: "cancelled" });
    } else {
      const result = await task.write("settle", {
        ...endingAfter(attempt, end),
        ...stackOf(end),
        ...(end.threw && { failure: failureOf(end.error, run.threwIn(end.error)) }),
      });
      trace?.end(attemptOutcome(end));
      const lost = lostKeys(attempt, end);
      if (result.ok && lost.length > 0)
        events?.emit({ type: "task.unreached", ...subject(result.task), ...neverReachedEvent(lost) });
    }
  } catch (error) {
    if (!isFenced(error)) throw error;
  }
}

/** What a handler threw that could run again names the attempt. */
function endingAfter({ tool, held: { record } }: Attempt, end: HandlerEnd): Ending {
  const { outcome } = end;
  const wasAttempt = end.threw && end.early !== true && outcome.kind === "error_result";
  if (!wasAttempt || tool.retry === undefined) return endingOf(outcome);
  return endingOf(outcome, attemptFailed(record.failures + 1, tool.retry.attempts));
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
