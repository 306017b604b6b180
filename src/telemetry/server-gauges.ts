import type {
  Attributes,
  BatchObservableResult,
  Meter,
  Observable,
  ObservableGauge,
  ObservableUpDownCounter,
} from "@opentelemetry/api";
import type { ProcessReadings, QueueReadings, ServerReadings } from "../runtime/telemetry/metrics.ts";
import { allWaitReasons, type TaskWait } from "../task/task-line.ts";
import { gaugeOf, metric, type SeriesNames, upDownCounterOf } from "./metric.ts";
import { attribute } from "./spans.ts";

/** By meter. Servers of a process that share a meter share these, because an SDK keeps the last number reported for an instrument. */
const known = new WeakMap<Meter, ServerGauges>();

/**
 * Values that are read when metrics are collected: the sums of all servers of the process and, for the queues of their stores, which may
 * be the same, the longest.
 */
export class ServerGauges {
  readonly #meter: Meter;
  readonly #names: SeriesNames;
  /** Each with a function that first reports what it has counted. */
  readonly #servers = new Map<ServerReadings, () => void>();
  readonly #used: ObservableUpDownCounter;
  readonly #limit: ObservableUpDownCounter;
  readonly #active: ByTool;
  readonly #waiting: ByTool;
  readonly #leaked: ByTool;
  readonly #permits: ObservableUpDownCounter;
  readonly #queues: Readonly<Record<QueueReadings["lengths"][number]["state"], ByTool>>;
  readonly #age: ObservableGauge;
  readonly #waits: Readonly<Record<TaskWait, ByTool>>;
  readonly #messages: ObservableGauge;
  readonly #messageAge: ObservableGauge;
  readonly #processes: Readonly<Record<keyof ProcessReadings, ObservableGauge>>;
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
    this.#permits = upDownCounterOf(meter, metric.permits);
    const length = gaugeOf(meter, metric.queueLength);
    this.#queues = { ready: new ByTool(length), parked: new ByTool(length) };
    this.#age = gaugeOf(meter, metric.queueAge);
    const waits = gaugeOf(meter, metric.tasksWaiting);
    this.#waits = Object.fromEntries(allWaitReasons.map((reason) => [reason, new ByTool(waits)])) as Record<
      TaskWait,
      ByTool
    >;
    this.#messages = gaugeOf(meter, metric.webhookMessages);
    this.#messageAge = gaugeOf(meter, metric.webhookAge);
    this.#processes = {
      started: gaugeOf(meter, metric.ownersStarted),
      lost: gaugeOf(meter, metric.ownersLostLately),
      lostAttempts: gaugeOf(meter, metric.attemptsLostLately),
    };
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
      this.#permits,
      this.#clockOffset,
      ...Object.values(this.#delays),
    ];
  }

  get #ofStores(): Observable[] {
    return [
      this.#queues.ready.instrument,
      this.#age,
      this.#waits.slot.instrument,
      this.#messages,
      this.#messageAge,
      ...Object.values(this.#processes),
    ];
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
    for (const [name, permits] of joined(servers.map((server) => server.permits())))
      result.observe(this.#permits, permits, { [attribute.limit]: name });
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
    for (const reason of allWaitReasons) {
      const tasks = read.map(({ waits }) => this.#byTool(waitingFor(reason, waits)));
      this.#waits[reason].observe(result, joined(tasks, Math.max), { [attribute.waitReason]: reason });
    }
    const processes = read.map((each) => each.processes).filter((each) => each !== undefined);
    for (const each of ["started", "lost", "lostAttempts"] as const)
      if (processes.length > 0)
        result.observe(this.#processes[each], Math.max(...processes.map((numbers) => numbers[each])));
    const hooks = read.flatMap(({ webhooks }) => webhooks);
    for (const name of new Set(hooks.map(({ hook }) => hook))) {
      const of = hooks.filter(({ hook }) => hook === name);
      const most = (each: "waiting" | "givenUp" | "oldestMs"): number =>
        Math.max(...of.map((hook) => hook[each]));
      const named = { [attribute.webhook]: name };
      result.observe(this.#messages, most("waiting"), { ...named, [attribute.webhookState]: "waiting" });
      result.observe(this.#messages, most("givenUp"), { ...named, [attribute.webhookState]: "given_up" });
      result.observe(this.#messageAge, most("oldestMs") / 1_000, named);
    }
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

function waitingFor(wanted: TaskWait, waits: QueueReadings["waits"]): ReadonlyMap<string, number> {
  const forThat = waits.filter(({ reason }) => reason === wanted);
  return new Map(forThat.map(({ tool, tasks }) => [tool, tasks]));
}

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
