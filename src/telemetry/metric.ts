import type { Counter, Histogram, Meter, ObservableGauge, ObservableUpDownCounter } from "@opentelemetry/api";
import { failed, unfailing } from "./spans.ts";

/** A metric's name, kind and unit. */
interface Metric {
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge" | "up-down counter";
  readonly unit: string;
  readonly description: string;
  /** For a histogram: the upper bounds of its buckets, unless the SDK is configured otherwise. */
  readonly buckets?: readonly number[];
}

/** As the MCP conventions recommend for seconds. */
const seconds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Tasks take from milliseconds to days. */
const lifetimes = [...seconds, 900, 3_600, 14_400, 86_400, 604_800];

const shortSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/**
 * All metrics, named by OpenTelemetry's conventions if they have a name, otherwise `holdfast.…`. docs/reference/telemetry.md lists their
 * attributes.
 */
export const metric = {
  requestDuration: {
    name: "mcp.server.operation.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of requests, from arrival to response.",
    buckets: seconds,
  },
  clientRequestDuration: {
    name: "mcp.client.operation.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of a client's requests, from sending to response.",
    buckets: seconds,
  },
  tasksCreated: {
    name: "holdfast.task.creations",
    kind: "counter",
    unit: "{task}",
    description: "Tasks created.",
  },
  taskDuration: {
    name: "holdfast.task.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of tasks, from creation to end.",
    buckets: lifetimes,
  },
  tasksAbandoned: {
    name: "holdfast.task.abandonments",
    kind: "counter",
    unit: "{task}",
    description: "Tasks whose ids did not reach their clients.",
  },
  queueDuration: {
    name: "holdfast.task.queue.duration",
    kind: "histogram",
    unit: "s",
    description: "Time that tasks waited for their first attempt, if they had to wait.",
    buckets: lifetimes,
  },
  attemptsStarted: {
    name: "holdfast.attempt.starts",
    kind: "counter",
    unit: "{attempt}",
    description: "Attempts started.",
  },
  attemptsInterrupted: {
    name: "holdfast.attempt.interruptions",
    kind: "counter",
    unit: "{attempt}",
    description: "Attempts that ended before their tasks.",
  },
  stepDuration: {
    name: "holdfast.step.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of steps, including all tries in one attempt.",
    buckets: lifetimes,
  },
  questionsAsked: {
    name: "holdfast.question.asks",
    kind: "counter",
    unit: "{question}",
    description: "Questions asked by handlers.",
  },
  questionsAnswered: {
    name: "holdfast.question.answers",
    kind: "counter",
    unit: "{question}",
    description: "Questions answered.",
  },
  requestsRefused: {
    name: "holdfast.request.refusals",
    kind: "counter",
    unit: "{request}",
    description: "Requests refused.",
  },
  handlerLeaks: {
    name: "holdfast.handler.leaks",
    kind: "counter",
    unit: "{handler}",
    description: "Handlers that kept running after their tasks had ended.",
  },
  loopBlocks: {
    name: "holdfast.loop.block.duration",
    kind: "histogram",
    unit: "s",
    description: "How long the event loop did not answer, if that was for longer than it should.",
    buckets: seconds,
  },
  tasksUnreadable: {
    name: "holdfast.task.damages",
    kind: "counter",
    unit: "{task}",
    description: "Tasks found damaged.",
  },
  ownersLost: {
    name: "holdfast.owner.losses",
    kind: "counter",
    unit: "{process}",
    description: "Dead processes whose tasks were taken over.",
  },
  ownersStarted: {
    name: "holdfast.owner.started",
    kind: "gauge",
    unit: "{process}",
    description: "Processes that started in the last fifteen minutes, in the whole store.",
  },
  ownersLostLately: {
    name: "holdfast.owner.lost",
    kind: "gauge",
    unit: "{process}",
    description: "Processes that died at work in the last fifteen minutes, in the whole store.",
  },
  attemptsLostLately: {
    name: "holdfast.attempt.lost",
    kind: "gauge",
    unit: "{attempt}",
    description:
      "Attempts that were lost with their processes in the last fifteen minutes, in the whole store.",
  },
  storeLosses: {
    name: "holdfast.store.losses",
    kind: "counter",
    unit: "{loss}",
    description: "How often other processes considered this one dead.",
  },
  listenerLosses: {
    name: "holdfast.store.listener.losses",
    kind: "counter",
    unit: "{loss}",
    description: "How often the store stopped notifying this process of changes by others.",
  },
  writeDuration: {
    name: "holdfast.store.write.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of writes to the store, from request until durable.",
    buckets: shortSeconds,
  },
  commitSize: {
    name: "holdfast.store.commit.size",
    kind: "histogram",
    unit: "{command}",
    description: "Commands per commit.",
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
  },
  pushDelay: {
    name: "holdfast.push.delay",
    kind: "histogram",
    unit: "s",
    description: "Time from a change of a task until it was sent to listeners.",
    buckets: shortSeconds,
  },
  slotsUsed: {
    name: "holdfast.slot.usage",
    kind: "up-down counter",
    unit: "{slot}",
    description: "Slots of this process in use by handlers.",
  },
  slotLimit: {
    name: "holdfast.slot.limit",
    kind: "up-down counter",
    unit: "{slot}",
    description: "Slots of this process.",
  },
  handlersActive: {
    name: "holdfast.handler.active",
    kind: "up-down counter",
    unit: "{handler}",
    description: "Handlers of this process that hold tasks.",
  },
  handlersWaiting: {
    name: "holdfast.handler.waiting",
    kind: "up-down counter",
    unit: "{handler}",
    description: "Handlers of this process that wait in memory.",
  },
  handlersLeaked: {
    name: "holdfast.handler.leaked",
    kind: "up-down counter",
    unit: "{handler}",
    description: "Handlers of this process that keep running after their tasks have ended.",
  },
  permits: {
    name: "holdfast.limit.permits",
    kind: "up-down counter",
    unit: "{permit}",
    description: "Permits of limits by name in use by handlers and steps of this process.",
  },
  queueLength: {
    name: "holdfast.queue.length",
    kind: "gauge",
    unit: "{task}",
    description: "Queued tasks in the whole store, counted up to 10,000 per tool and process.",
  },
  queueAge: {
    name: "holdfast.queue.age",
    kind: "gauge",
    unit: "s",
    description: "Longest time that a ready task has waited for an attempt, in the whole store.",
  },
  tasksWaiting: {
    name: "holdfast.task.waiting",
    kind: "gauge",
    unit: "{task}",
    description: "Unfinished tasks that wait, among the newest 10,000 of the whole store.",
  },
  webhookSends: {
    name: "holdfast.webhook.sends",
    kind: "counter",
    unit: "{message}",
    description: "Messages sent to webhooks, each try by what came of it.",
  },
  webhookMessages: {
    name: "holdfast.webhook.messages",
    kind: "gauge",
    unit: "{message}",
    description: "Messages that webhooks have not accepted, in the whole store, counted up to 10,000 each.",
  },
  webhookAge: {
    name: "holdfast.webhook.age",
    kind: "gauge",
    unit: "s",
    description: "How long ago the oldest change was whose message is still tried.",
  },
  clockOffset: {
    name: "holdfast.clock.offset",
    kind: "gauge",
    unit: "s",
    description: "How far the database's clock is ahead of this machine's; negative: behind.",
  },
  loopDelayMin: {
    name: "nodejs.eventloop.delay.min",
    kind: "gauge",
    unit: "s",
    description: "The shortest delay of the event loop.",
  },
  loopDelayMax: {
    name: "nodejs.eventloop.delay.max",
    kind: "gauge",
    unit: "s",
    description: "The longest delay of the event loop.",
  },
  loopDelayMean: {
    name: "nodejs.eventloop.delay.mean",
    kind: "gauge",
    unit: "s",
    description: "The mean delay of the event loop.",
  },
  loopDelayP50: {
    name: "nodejs.eventloop.delay.p50",
    kind: "gauge",
    unit: "s",
    description: "The 50th percentile of the delay of the event loop.",
  },
  loopDelayP90: {
    name: "nodejs.eventloop.delay.p90",
    kind: "gauge",
    unit: "s",
    description: "The 90th percentile of the delay of the event loop.",
  },
  loopDelayP99: {
    name: "nodejs.eventloop.delay.p99",
    kind: "gauge",
    unit: "s",
    description: "The 99th percentile of the delay of the event loop.",
  },
} as const satisfies Readonly<Record<string, Metric>>;

type Of<Kind extends Metric["kind"]> = Extract<(typeof metric)[keyof typeof metric], { readonly kind: Kind }>;

export function counterOf(meter: Meter, { name, unit, description }: Of<"counter">): Counter {
  const counter = meter.createCounter(name, { unit, description });
  return { add: (value, attributes) => unfailing(() => counter.add(value, attributes), undefined) };
}

export function histogramOf(meter: Meter, { name, unit, description, buckets }: Of<"histogram">): Histogram {
  const advice = { explicitBucketBoundaries: [...buckets] };
  const histogram = meter.createHistogram(name, { unit, description, advice });
  return {
    // Several times in each task's life.
    record(value, attributes) {
      try {
        histogram.record(value, attributes);
      } catch (error) {
        failed(error);
      }
    },
  };
}

export function gaugeOf(meter: Meter, { name, unit, description }: Of<"gauge">): ObservableGauge {
  return meter.createObservableGauge(name, { unit, description });
}

export function upDownCounterOf(
  meter: Meter,
  { name, unit, description }: Of<"up-down counter">,
): ObservableUpDownCounter {
  return meter.createObservableUpDownCounter(name, { unit, description });
}

/**
 * The names that series of metrics are told apart by. Tools come and go, and servers give their tools any names, but an SDK keeps each series
 * that it has once reported, for as long as the process lives.
 * - A name that has its own series keeps it: a counter never goes back.
 * - Names beyond the limit are counted together.
 */
export class SeriesNames {
  readonly #most: number;
  readonly #names = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  of(name: string): string {
    if (this.#names.size < this.#most) this.#names.add(name);
    return this.#names.has(name) ? name : otherNames;
  }
}

/** As OpenTelemetry's conventions call values that are not told apart. */
const otherNames = "_OTHER";
