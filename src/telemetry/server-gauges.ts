import type {
  Attributes,
  BatchObservableResult,
  Meter,
  Observable,
  ObservableGauge,
  ObservableUpDownCounter,
} from "@opentelemetry/api";
import type { QueueReadings, ServerReadings } from "../runtime/telemetry/metrics.ts";
import { attribute } from "./attributes.ts";
import { gaugeOf, metric, upDownCounterOf } from "./metric.ts";

/** A number for each tool. Reports 0 for a tool that had another number before, because an SDK repeats the last one. */
class ByTool {
  readonly instrument: Observable;
  readonly #tools = new Set<string>();

  constructor(instrument: Observable) {
    this.instrument = instrument;
  }

  observe(result: BatchObservableResult, numbers: ReadonlyMap<string, number>, more?: Attributes): void {
    for (const tool of numbers.keys()) this.#tools.add(tool);
    for (const tool of this.#tools)
      result.observe(this.instrument, numbers.get(tool) ?? 0, { ...more, [attribute.tool]: tool });
  }
}

/** By meter. Servers of a process that share a meter share these, because an SDK keeps the last number reported for an instrument. */
const known = new WeakMap<Meter, ServerGauges>();

/**
 * Values that are read when metrics are collected: the sums of all servers of the process and, for the queues of their stores, which may
 * be the same, the longest.
 */
export class ServerGauges {
  readonly #meter: Meter;
  /** Each with a function that first reports what it has counted. */
  readonly #servers = new Map<ServerReadings, () => void>();
  readonly #used: ObservableUpDownCounter;
  readonly #limit: ObservableUpDownCounter;
  readonly #active: ByTool;
  readonly #waiting: ObservableUpDownCounter;
  readonly #leaked: ByTool;
  readonly #queues: Readonly<Record<QueueReadings["lengths"][number]["state"], ByTool>>;
  readonly #age: ObservableGauge;
  readonly #delays: Readonly<Record<"min" | "max" | "mean" | "p50" | "p90" | "p99", ObservableGauge>>;

  static of(meter: Meter): ServerGauges {
    const gauges = known.get(meter) ?? new ServerGauges(meter);
    known.set(meter, gauges);
    return gauges;
  }

  private constructor(meter: Meter) {
    this.#meter = meter;
    this.#used = upDownCounterOf(meter, metric.slotsUsed);
    this.#limit = upDownCounterOf(meter, metric.slotLimit);
    this.#active = new ByTool(upDownCounterOf(meter, metric.handlersActive));
    this.#waiting = upDownCounterOf(meter, metric.handlersWaiting);
    this.#leaked = new ByTool(upDownCounterOf(meter, metric.handlersLeaked));
    const length = gaugeOf(meter, metric.queueLength);
    this.#queues = { ready: new ByTool(length), parked: new ByTool(length) };
    this.#age = gaugeOf(meter, metric.queueAge);
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
      this.#waiting,
      this.#leaked.instrument,
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
    result.observe(this.#waiting, sum(servers.map((server) => server.waitingHandlers())));
    this.#active.observe(result, byTool(servers.map((server) => server.activeHandlers())));
    this.#leaked.observe(result, byTool(servers.map((server) => server.leakedHandlers())));
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
      const tasks = read.map(({ lengths }) => lengthsOf(state, lengths));
      this.#queues[state].observe(result, byTool(tasks, Math.max), { [attribute.queueState]: state });
    }
    result.observe(this.#age, Math.max(...read.map(({ oldestMs }) => oldestMs)) / 1_000);
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** One number for each tool: by default the sum. */
function byTool(
  each: readonly ReadonlyMap<string, number>[],
  join: (a: number, b: number) => number = (a, b) => a + b,
): ReadonlyMap<string, number> {
  const joined = new Map<string, number>();
  for (const numbers of each)
    for (const [tool, number] of numbers) joined.set(tool, join(joined.get(tool) ?? 0, number));
  return joined;
}

function lengthsOf(
  wanted: QueueReadings["lengths"][number]["state"],
  lengths: QueueReadings["lengths"],
): ReadonlyMap<string, number> {
  const ofState = lengths.filter(({ state }) => state === wanted);
  return new Map(ofState.map(({ tool, tasks }) => [tool, tasks]));
}
