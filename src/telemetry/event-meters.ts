import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import type { AttemptOutcome } from "../runtime/telemetry/tracing.ts";
import { attribute } from "./attributes.ts";
import { counterOf, histogramOf, metric } from "./metric.ts";
import { Tally } from "./tally.ts";

type Ended = Extract<ServerEvent, { readonly type: "task.settled" | "task.cancelled" | "task.expired" }>;

/** Counts and measures events. No attribute has text from callers, so refused requests have no method. */
export class EventMeters {
  readonly #created: Tally;
  readonly #duration: Histogram;
  readonly #queued: Histogram;
  readonly #started: Tally;
  readonly #interrupted: Counter;
  readonly #steps: Histogram;
  readonly #asked: Counter;
  readonly #answered: Counter;
  readonly #refused: Counter;
  readonly #leaked: Counter;
  readonly #unreadable: Counter;
  readonly #ownersLost: Counter;
  readonly #storeLosses: Counter;
  readonly #listenerLosses: Counter;

  constructor(meter: Meter) {
    this.#created = new Tally(counterOf(meter, metric.tasksCreated));
    this.#duration = histogramOf(meter, metric.taskDuration);
    this.#queued = histogramOf(meter, metric.queueDuration);
    this.#started = new Tally(counterOf(meter, metric.attemptsStarted));
    this.#interrupted = counterOf(meter, metric.attemptsInterrupted);
    this.#steps = histogramOf(meter, metric.stepDuration);
    this.#asked = counterOf(meter, metric.questionsAsked);
    this.#answered = counterOf(meter, metric.questionsAnswered);
    this.#refused = counterOf(meter, metric.requestsRefused);
    this.#leaked = counterOf(meter, metric.handlerLeaks);
    this.#unreadable = counterOf(meter, metric.tasksUnreadable);
    this.#ownersLost = counterOf(meter, metric.ownersLost);
    this.#storeLosses = counterOf(meter, metric.storeLosses);
    this.#listenerLosses = counterOf(meter, metric.listenerLosses);
  }

  /**
   * Called when a server starts. Reports counters for alerts from 0 on: a counter that first appears with the first loss does not rise
   * between two readings.
   */
  begin(): void {
    for (const counter of [this.#unreadable, this.#ownersLost, this.#storeLosses, this.#listenerLosses])
      counter.add(0);
    this.#interrupted.add(0, endOf("lost"));
  }

  count(event: ServerEvent): void {
    switch (event.type) {
      case "task.created":
        return this.#created.add(event.tool, () => of(event));
      case "task.started":
        return this.#attemptStarted(event);
      case "task.step":
        return this.#stepEnded(event);
      case "task.question":
        return this.#asked.add(1, { ...of(event), [attribute.method]: event.method });
      case "task.answered":
        return this.#answered.add(event.keys.length, of(event));
      case "task.retried":
        return this.#interruptedBy("retried", event);
      case "task.parked":
        return this.#interruptedBy("parked", event);
      case "task.released":
        return this.#interruptedBy("released", event);
      case "task.settled":
        return this.#ended(event, event.outcome);
      case "task.cancelled":
        return this.#ended(event, "cancelled");
      case "task.expired":
        return this.#ended(event, "expired");
      case "request.refused":
        return this.#refused.add(1, refusalOf(event));
      case "handler.leaked":
        return this.#leaked.add(1, of(event));
      case "task.unreadable":
        return this.#unreadable.add(1);
      case "owner.lost":
        this.#ownersLost.add(1);
        return this.#interrupted.add(event.tasks, endOf("lost"));
      case "store.lost":
        return this.#storeLosses.add(1);
      case "listener.lost":
        return this.#listenerLosses.add(1);
      default:
        return;
    }
  }

  /** Reports to the SDK what was counted since the last call. Call it when it collects, and at the end. */
  flush(): void {
    this.#created.flush();
    this.#started.flush();
  }

  #attemptStarted(event: Extract<ServerEvent, { readonly type: "task.started" }>): void {
    const { tool, resumed, queuedMs = 0 } = event;
    this.#started.add(`${resumed} ${tool}`, () => ({ ...of(event), [attribute.resumed]: resumed }));
    if (queuedMs > 0) this.#queued.record(inSeconds(queuedMs), of(event));
  }

  #stepEnded(event: Extract<ServerEvent, { readonly type: "task.step" }>): void {
    const { durationMs, outcome } = event;
    if (durationMs === undefined) return; // its start was not reported
    this.#steps.record(inSeconds(durationMs), { ...of(event), [attribute.stepOutcome]: outcome });
  }

  #ended(event: Ended, outcome: string): void {
    this.#duration.record(inSeconds(event.durationMs), { ...of(event), [attribute.taskOutcome]: outcome });
  }

  #interruptedBy(end: AttemptOutcome["end"], event: { readonly tool: string }): void {
    this.#interrupted.add(1, { ...of(event), ...endOf(end) });
  }
}

function of({ tool }: { readonly tool: string }): Attributes {
  return { [attribute.tool]: tool };
}

function endOf(end: AttemptOutcome["end"]): Attributes {
  return { [attribute.attemptEnd]: end };
}

function refusalOf({ code, status }: Extract<ServerEvent, { readonly type: "request.refused" }>): Attributes {
  return {
    [attribute.errorType]: code,
    ...(status !== undefined && { [attribute.httpStatus]: status }),
  };
}

function inSeconds(ms: number): number {
  return ms / 1_000;
}
