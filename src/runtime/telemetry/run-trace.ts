import type { JournalEnd, JournalHead } from "../../task/journal.ts";
import type { TaskRecord, TraceContext } from "../../task/record.ts";
import type { Clock } from "../clock.ts";
import type { HandlerEnd } from "../tool/tool-outcome.ts";
import type { ServerTelemetry } from "./telemetry.ts";
import type { AttemptOutcome, OpenSpan, ServerTracing, TracedRun, TracedWait } from "./tracing.ts";

/** The trace of one run of a handler: its span, and those of what the handler does. None if nothing is traced. */
export class RunTrace {
  readonly #tracing: ServerTracing;
  readonly #of: TracedRun;
  readonly #span: OpenSpan<AttemptOutcome>;
  /** Waits that ended since this time (epoch ms) have no span yet: the previous attempt recorded the earlier ones. */
  readonly #since: number;

  constructor(tracing: ServerTracing, of: TracedRun, since = Infinity) {
    this.#tracing = tracing;
    this.#of = of;
    this.#since = since;
    this.#span = tracing.attempt(of);
  }

  /**
   * For a task that an attempt has begun to run, whose request came with `trace`. Also records the previous attempt if that could not do so
   * itself.
   */
  static ofTask(
    telemetry: ServerTelemetry | undefined,
    task: TaskRecord,
    trace: TraceContext | undefined,
  ): RunTrace | undefined {
    if (telemetry === undefined) return undefined;
    const { tracing } = telemetry;
    const { id: taskId, tool, attempt, parent, attempts } = task;
    const of: TracedRun = { tool, taskId, parentId: parent?.id, attempt, trace };
    const before = attempts.findLast(({ number, endedAt }) => number < attempt && endedAt !== null);
    if (before?.end === "lost" && before.number === attempt - 1)
      tracing.lostAttempt(
        { ...of, attempt: before.number },
        before.startedAt,
        before.endedAt ?? before.startedAt,
      );
    const endedAt = before?.endedAt ?? Infinity;
    // One that threw did so at once after what it waited for, while one that was parked or released had nothing to go on with.
    return new RunTrace(tracing, of, before?.end === "retried" ? endedAt + 1 : endedAt);
  }

  /** Calls `work`; its spans become children of the run's span. */
  run<T>(work: () => T): T {
    return this.#span.run(work);
  }

  /** Runs one try of a step, which has failed `tries` times before. */
  async step<T>(key: string, tries: number, work: () => Promise<T>): Promise<T> {
    const span = this.#tracing.step({ run: this.#of, key, tries }, this.#span);
    try {
      const value = await span.run(work);
      span.end({ threw: false });
      return value;
    } catch (error) {
      span.end({ threw: true, error });
      throw error;
    }
  }

  /** Records a wait when it has ended. If another attempt continues the wait, that attempt records it. */
  async waiting<T extends JournalEnd | void>(
    wait: Omit<TracedWait, "endedAt" | "failed">,
    clock: Pick<Clock, "now">,
    end: Promise<T>,
  ): Promise<T> {
    let failed = true;
    try {
      const ended = await end;
      failed = typeof ended === "object" && ended.error !== null;
      return ended;
    } finally {
      this.#tracing.waited(this.#of, { ...wait, endedAt: clock.now(), failed });
    }
  }

  /** The handler has replayed an entry. If others ended it while no attempt ran, the first attempt that learns of it records it. */
  replayed({ key, kind, method, begunAt, doneAt }: JournalHead, failed: boolean): void {
    if ((kind !== "input" && kind !== "event") || begunAt === null || doneAt === null) return;
    if (doneAt < this.#since) return;
    this.#tracing.waited(this.#of, {
      kind,
      key,
      method: method ?? undefined,
      begunAt,
      endedAt: doneAt,
      failed,
    });
  }

  /** The handler calls another tool. Returns the trace context for that call. */
  called(key: string, tool: string): TraceContext | undefined {
    return this.#tracing.called(this.#of, { key, tool });
  }

  end(outcome: AttemptOutcome): void {
    this.#span.end(outcome);
  }
}

/** What the trace records about a handler that has ended, and whose outcome counts. */
export function attemptOutcome(end: HandlerEnd): AttemptOutcome {
  return {
    end: end.outcome.kind === "result" ? "settled" : "failed",
    ...(end.threw && { error: end.error }),
  };
}

/** The same without a task: what the handler throws because its caller has left is no error. */
export function directOutcome(end: HandlerEnd, caller: AbortSignal): AttemptOutcome {
  return end.threw && caller.aborted ? { end: "cancelled" } : attemptOutcome(end);
}
