import type {
  Attributes,
  Histogram,
  Meter,
  Counter,
  BatchObservableResult,
  Observable,
  ObservableGauge,
  ObservableUpDownCounter,
} from "@opentelemetry/api";
import type { ServerEvent } from "../runtime/events/server-event.ts";
import type {
  ServerMetrics,
  ServerReadings,
  WriteOutcome,
  QueueReadings,
} from "../runtime/telemetry/metrics.ts";
import type { TaskCommandName } from "../task/command.ts";
import { ByTool, type SeriesNames } from "./series-names.ts";
import { attribute } from "./spans.ts";
import { histogramOf, metric, counterOf, gaugeOf, upDownCounterOf } from "./metric.ts";
import type { AttemptOutcome } from "../runtime/telemetry/tracing.ts";

/** The metrics of a server. */
export class ServerMeters implements ServerMetrics {
  readonly requestDuration: Histogram;
  readonly #events: EventMeters;
  readonly #gauges: ServerGauges;
  readonly #writeDuration: Histogram;
  /** The attributes of writes: they have few values. */
  readonly #writes = new Map<string, Attributes>();
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
    const key = `${command} ${outcome}` as const;
    const attributes = this.#writes.get(key) ?? {
      [attribute.storeCommand]: command,
      [attribute.storeOutcome]: outcome,
    };
    this.#writes.set(key, attributes);
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
  readonly #refused: Counter;
  readonly #leaked: Counter;
  readonly #unreadable: Counter;
  readonly #ownersLost: Counter;
  readonly #storeLosses: Counter;
  readonly #listenerLosses: Counter;

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
      case "task.expired":
        return this.#ended(event, "expired");
      case "request.refused":
        return this.#refused.add(1, refusalOf(event));
      case "handler.leaked":
        return this.#leaked.add(1, this.#of(event));
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

/** By meter. Servers of a process that share a meter share these, because an SDK keeps the last number reported for an instrument. */
const known = new WeakMap<Meter, ServerGauges>();

/**
 * Values that are read when metrics are collected: the sums of all servers of the process and, for the queues of their stores, which may
 * be the same, the longest.
 */
class ServerGauges {
  readonly #meter: Meter;
  readonly #names: SeriesNames;
  /** Each with a function that first reports what it has counted. */
  readonly #servers = new Map<ServerReadings, () => void>();
  readonly #used: ObservableUpDownCounter;
  readonly #limit: ObservableUpDownCounter;
  readonly #active: ByTool;
  readonly #waiting: ByTool;
  readonly #leaked: ByTool;
  readonly #queues: Readonly<Record<QueueReadings["lengths"][number]["state"], ByTool>>;
  readonly #age: ObservableGauge;
  readonly #clockOffset: ObservableGauge;
  readonly #delays: Readonly<Record<"min" | "max" | "mean" | "p50" | "p90" | "p99", ObservableGauge>>;

  static of(meter: Meter, names: SeriesNames): ServerGauges {
    const gauges = known.get(meter) ?? new ServerGauges(meter, names);
    known.set(meter, gauges);
    return gauges;
  }

  private constructor(meter: Meter, names: SeriesNames) {
    this.#meter = meter;
    this.#names = names;
    this.#used = upDownCounterOf(meter, metric.slotsUsed);
    this.#limit = upDownCounterOf(meter, metric.slotLimit);
    this.#active = new ByTool(upDownCounterOf(meter, metric.handlersActive));
    this.#waiting = new ByTool(upDownCounterOf(meter, metric.handlersWaiting));
    this.#leaked = new ByTool(upDownCounterOf(meter, metric.handlersLeaked));
    const length = gaugeOf(meter, metric.queueLength);
    this.#queues = { ready: new ByTool(length), parked: new ByTool(length) };
    this.#age = gaugeOf(meter, metric.queueAge);
    this.#clockOffset = gaugeOf(meter, metric.clockOffset);
    this.#delays = {
      min: gaugeOf(meter, metric.loopDelayMin),
      max: gaugeOf(meter, metric.loopDelayMax),
      mean: gaugeOf(meter, metric.loopDelayMean),
      p50: gaugeOf(meter, metric.loopDelayP50),
      p90: gaugeOf(meter, metric.loopDelayP90),
      p99: gaugeOf(meter, metric.loopDelayP99),
    };
  }

  observe(readings: ServerReadings, flush: () => void): () => void {
    this.#servers.set(readings, flush);
    if (this.#servers.size === 1) this.#begin();
    return () => {
      if (this.#servers.delete(readings) && this.#servers.size === 0) this.#end();
    };
  }

  #begin(): void {
    this.#meter.addBatchObservableCallback(this.#readProcess, this.#ofProcess);
    this.#meter.addBatchObservableCallback(this.#readStores, this.#ofStores);
  }

  #end(): void {
    this.#meter.removeBatchObservableCallback(this.#readProcess, this.#ofProcess);
    this.#meter.removeBatchObservableCallback(this.#readStores, this.#ofStores);
  }

  get #ofProcess(): Observable[] {
    return [
      this.#used,
      this.#limit,
      this.#active.instrument,
      this.#waiting.instrument,
      this.#leaked.instrument,
      this.#clockOffset,
      ...Object.values(this.#delays),
    ];
  }

  get #ofStores(): Observable[] {
    return [this.#queues.ready.instrument, this.#age];
  }

  readonly #readProcess = (result: BatchObservableResult): void => {
    for (const flush of this.#servers.values()) flush();
    const servers = [...this.#servers.keys()];
    const slots = servers.map((server) => server.slots());
    result.observe(this.#used, sum(slots.map(({ used }) => used)));
    result.observe(this.#limit, sum(slots.map(({ limit }) => limit)));
    this.#waiting.observe(result, joined(servers.map((server) => this.#byTool(server.waitingHandlers()))));
    this.#active.observe(result, joined(servers.map((server) => this.#byTool(server.activeHandlers()))));
    this.#leaked.observe(result, joined(servers.map((server) => this.#byTool(server.leakedHandlers()))));
    const offsets = servers.map((server) => server.clockOffset());
    const furthest = offsets.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
    result.observe(this.#clockOffset, furthest / 1_000);
    const [delay] = servers.map((server) => server.loopDelay()).filter((read) => read !== undefined); // there is one loop
    if (delay === undefined) return;
    for (const each of ["min", "max", "mean", "p50", "p90", "p99"] as const)
      result.observe(this.#delays[each], delay[each] / 1_000);
  };

  readonly #readStores = async (result: BatchObservableResult): Promise<void> => {
    const asked = await Promise.all([...this.#servers.keys()].map((server) => server.queues()));
    const read = asked.filter((queues) => queues !== undefined);
    if (read.length === 0) return;
    for (const state of ["ready", "parked"] as const) {
      const tasks = read.map(({ lengths }) => this.#byTool(lengthsOf(state, lengths)));
      this.#queues[state].observe(result, joined(tasks, Math.max), { [attribute.queueState]: state });
    }
    result.observe(this.#age, Math.max(...read.map(({ oldestMs }) => oldestMs)) / 1_000);
  };

  /** The numbers under the names of their series. */
  #byTool(numbers: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
    return joined([...numbers].map(([tool, number]) => new Map([[this.#names.of(tool), number]])));
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** One number for each tool: by default the sum. */
function joined(
  each: readonly ReadonlyMap<string, number>[],
  join: (a: number, b: number) => number = (a, b) => a + b,
): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  for (const numbers of each)
    for (const [tool, number] of numbers) all.set(tool, join(all.get(tool) ?? 0, number));
  return all;
}

function lengthsOf(
  wanted: QueueReadings["lengths"][number]["state"],
  lengths: QueueReadings["lengths"],
): ReadonlyMap<string, number> {
  const ofState = lengths.filter(({ state }) => state === wanted);
  return new Map(ofState.map(({ tool, tasks }) => [tool, tasks]));
}
