import type { Attributes, Histogram, Meter, Counter } from "@opentelemetry/api";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import type { ServerMetrics, ServerReadings, WriteOutcome } from "../runtime/telemetry/metrics.ts";
import type { TaskCommandName } from "../task/command.ts";
import { ServerGauges } from "./server-gauges.ts";
import { attribute } from "./spans.ts";
import { histogramOf, metric, counterOf, type SeriesNames } from "./metric.ts";
import type { AttemptOutcome } from "../runtime/telemetry/telemetry.ts";

/** The metrics of a server. */
export class ServerMeters implements ServerMetrics {
  readonly requestDuration: Histogram;
  readonly #events: EventMeters;
  readonly #gauges: ServerGauges;
  readonly #writeDuration: Histogram;
  /** The attributes of writes by their commands. */
  readonly #writes = new Map<TaskCommandName, Attributes>();
  readonly #commitSize: Histogram;
  readonly #pushDelay: Histogram;

  constructor(meter: Meter, names: SeriesNames) {
    this.requestDuration = histogramOf(meter, metric.requestDuration);
    this.#events = new EventMeters(meter, names);
    this.#gauges = ServerGauges.of(meter, names);
    this.#writeDuration = histogramOf(meter, metric.writeDuration);
    this.#commitSize = histogramOf(meter, metric.commitSize);
    this.#pushDelay = histogramOf(meter, metric.pushDelay);
  }

  event(event: ServerEvent): void {
    this.#events.count(event);
  }

  wrote(command: TaskCommandName, durationMs: number, outcome: WriteOutcome): void {
    const committed = this.#writes.get(command) ?? { [attribute.storeCommand]: command };
    this.#writes.set(command, committed);
    // An SDK sorts and prints the attributes of each value: most writes have one.
    const attributes =
      outcome === "committed" ? committed : { ...committed, [attribute.storeOutcome]: outcome };
    this.#writeDuration.record(durationMs / 1_000, attributes);
  }

  committed(commands: number): void {
    this.#commitSize.record(commands);
  }

  pushed(delayMs: number): void {
    this.#pushDelay.record(delayMs / 1_000);
  }

  observe(readings: ServerReadings): () => void {
    this.#events.begin();
    const flush = (): void => this.#events.flush();
    const end = this.#gauges.observe(readings, flush);
    return () => {
      end();
      flush();
    };
  }
}

type Ended = Extract<ServerEvent, { readonly type: "task.settled" | "task.cancelled" | "task.expired" }>;

/** Counts and measures events. No attribute has text from callers, so refused requests have no method. */
class EventMeters {
  readonly #names: SeriesNames;
  readonly #created: Tally;
  readonly #duration: Histogram;
  readonly #queued: Histogram;
  readonly #started: Tally;
  readonly #interrupted: Counter;
  readonly #steps: Histogram;
  readonly #asked: Counter;
  readonly #answered: Counter;
  readonly #abandoned: Counter;
  readonly #refused: Counter;
  readonly #leaked: Counter;
  readonly #loopBlocks: Histogram;
  readonly #unreadable: Counter;
  readonly #ownersLost: Counter;
  readonly #storeLosses: Counter;
  readonly #listenerLosses: Counter;
  readonly #sent: Counter;

  constructor(meter: Meter, names: SeriesNames) {
    this.#names = names;
    this.#created = new Tally(counterOf(meter, metric.tasksCreated));
    this.#duration = histogramOf(meter, metric.taskDuration);
    this.#queued = histogramOf(meter, metric.queueDuration);
    this.#started = new Tally(counterOf(meter, metric.attemptsStarted));
    this.#interrupted = counterOf(meter, metric.attemptsInterrupted);
    this.#steps = histogramOf(meter, metric.stepDuration);
    this.#asked = counterOf(meter, metric.questionsAsked);
    this.#answered = counterOf(meter, metric.questionsAnswered);
    this.#abandoned = counterOf(meter, metric.tasksAbandoned);
    this.#refused = counterOf(meter, metric.requestsRefused);
    this.#leaked = counterOf(meter, metric.handlerLeaks);
    this.#loopBlocks = histogramOf(meter, metric.loopBlocks);
    this.#unreadable = counterOf(meter, metric.tasksUnreadable);
    this.#ownersLost = counterOf(meter, metric.ownersLost);
    this.#storeLosses = counterOf(meter, metric.storeLosses);
    this.#listenerLosses = counterOf(meter, metric.listenerLosses);
    this.#sent = counterOf(meter, metric.webhookSends);
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
        return this.#created.add(this.#names.of(event.tool), () => this.#of(event));
      case "task.started":
        return this.#attemptStarted(event);
      case "task.step":
        return this.#stepEnded(event);
      case "task.question":
        return this.#asked.add(1, { ...this.#of(event), [attribute.method]: event.method });
      case "task.answered":
        return this.#answered.add(event.keys.length, this.#of(event));
      case "task.retried":
        return this.#interruptedBy("retried", event);
      case "task.blocked":
        return this.#interruptedBy("blocked", event);
      case "task.parked":
        return this.#interruptedBy("parked", event);
      case "task.released":
        return this.#interruptedBy("released", event);
      case "task.settled":
        return this.#ended(event, event.outcome);
      case "task.cancelled":
        return this.#ended(event, "cancelled");
      case "task.abandoned":
        return this.#abandoned.add(1, this.#of(event));
      case "task.expired":
        return this.#ended(event, "expired");
      case "request.refused":
        return this.#refused.add(1, refusalOf(event));
      case "handler.leaked":
        return this.#leaked.add(1, this.#of(event));
      case "loop.blocked":
        return this.#loopBlocks.record(
          inSeconds(event.durationMs),
          event.tool === undefined ? {} : this.#of({ tool: event.tool }),
        );
      case "task.unreadable":
        return this.#unreadable.add(1);
      case "owner.lost":
        this.#ownersLost.add(1);
        return this.#interrupted.add(event.tasks, endOf("lost"));
      case "store.lost":
        return this.#storeLosses.add(1);
      case "listener.lost":
        return this.#listenerLosses.add(1);
      case "webhook.delivered":
      case "webhook.retried":
      case "webhook.failed":
        return this.#sent.add(1, sendOf(event));
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
    const attributes = this.#of(event);
    this.#started.add(`${resumed} ${this.#names.of(tool)}`, () => ({
      ...attributes,
      [attribute.resumed]: resumed,
    }));
    if (queuedMs > 0) this.#queued.record(inSeconds(queuedMs), attributes);
  }

  #stepEnded(event: Extract<ServerEvent, { readonly type: "task.step" }>): void {
    const { durationMs, outcome } = event;
    if (durationMs === undefined) return; // its start was not reported
    this.#steps.record(inSeconds(durationMs), { ...this.#of(event), [attribute.stepOutcome]: outcome });
  }

  #ended(event: Ended, outcome: string): void {
    this.#duration.record(inSeconds(event.durationMs), {
      ...this.#of(event),
      [attribute.taskOutcome]: outcome,
    });
  }

  #interruptedBy(end: AttemptOutcome["end"], event: { readonly tool: string }): void {
    this.#interrupted.add(1, { ...this.#of(event), ...endOf(end) });
  }

  #of({ tool }: { readonly tool: string }): Attributes {
    return { [attribute.tool]: this.#names.of(tool) };
  }
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

/** `retried`: it is sent again; `failed`: it is given up. */
function sendOf({
  type,
  webhook,
}: {
  readonly type: `webhook.${string}`;
  readonly webhook: string;
}): Attributes {
  return { [attribute.webhook]: webhook, [attribute.webhookOutcome]: type.slice("webhook.".length) };
}

function inSeconds(ms: number): number {
  return ms / 1_000;
}

/**
 * Counts what happens to every task, and reports the sums when an SDK collects. Reporting each event would cost as much as finding its
 * sum.
 */
class Tally {
  readonly #counter: Counter;
  readonly #counts = new Map<string, { readonly attributes: Attributes; count: number }>();

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  /** `key` stands for the attributes, which are created at its first count. */
  add(key: string, attributesOf: () => Attributes): void {
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { attributes: attributesOf(), count: 1 });
    else counted.count++;
  }

  flush(): void {
    for (const counted of this.#counts.values()) {
      if (counted.count === 0) continue;
      this.#counter.add(counted.count, counted.attributes);
      counted.count = 0;
    }
  }
}
