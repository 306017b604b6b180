import type { Counter, Histogram, Meter, ObservableGauge, ObservableUpDownCounter } from "@opentelemetry/api";
import { unfailing } from "./unfailing.ts";

/** What a metric is called and how it is measured. */
interface Metric {
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge" | "up-down counter";
  readonly unit: string;
  readonly description: string;
  /** Of a histogram: the upper bounds of its buckets, unless the SDK is told otherwise. */
  readonly buckets?: readonly number[];
}

/** As the conventions for MCP advise for seconds. */
const seconds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** Tasks last from no time to days. */
const lifetimes = [...seconds, 900, 3_600, 14_400, 86_400, 604_800];
const shortSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** All metrics: by OpenTelemetry's conventions where they have one, and else below `holdfast.`. What they are told apart by is in docs/guides/observability.md. */
export const metric = {
  requestDuration: {
    name: "mcp.server.operation.duration",
    kind: "histogram",
    unit: "s",
    description: "How long requests took, from their arrival to their answers.",
    buckets: seconds,
  },
  clientRequestDuration: {
    name: "mcp.client.operation.duration",
    kind: "histogram",
    unit: "s",
    description: "How long a client waited for the answers to its requests.",
    buckets: seconds,
  },
  tasksCreated: {
    name: "holdfast.task.creations",
    kind: "counter",
    unit: "{task}",
    description: "Tasks that were made.",
  },
  taskDuration: {
    name: "holdfast.task.duration",
    kind: "histogram",
    unit: "s",
    description: "How long tasks took, from their creation to their end.",
    buckets: lifetimes,
  },
  queueDuration: {
    name: "holdfast.task.queue.duration",
    kind: "histogram",
    unit: "s",
    description: "How long tasks waited for their first attempt that had to wait.",
    buckets: lifetimes,
  },
  attemptsStarted: {
    name: "holdfast.attempt.starts",
    kind: "counter",
    unit: "{attempt}",
    description: "Attempts that began.",
  },
  attemptsInterrupted: {
    name: "holdfast.attempt.interruptions",
    kind: "counter",
    unit: "{attempt}",
    description: "Attempts that ended before their tasks did.",
  },
  stepDuration: {
    name: "holdfast.step.duration",
    kind: "histogram",
    unit: "s",
    description: "How long steps took, all their tries in one attempt together.",
    buckets: lifetimes,
  },
  questionsAsked: {
    name: "holdfast.question.asks",
    kind: "counter",
    unit: "{question}",
    description: "Questions that handlers asked.",
  },
  questionsAnswered: {
    name: "holdfast.question.answers",
    kind: "counter",
    unit: "{question}",
    description: "Questions that were answered.",
  },
  requestsRefused: {
    name: "holdfast.request.refusals",
    kind: "counter",
    unit: "{request}",
    description: "Requests that were refused.",
  },
  handlerLeaks: {
    name: "holdfast.handler.leaks",
    kind: "counter",
    unit: "{handler}",
    description: "Handlers that went on although their tasks had ended.",
  },
  tasksUnreadable: {
    name: "holdfast.task.damages",
    kind: "counter",
    unit: "{task}",
    description: "Tasks that were found to be damaged.",
  },
  ownersLost: {
    name: "holdfast.owner.losses",
    kind: "counter",
    unit: "{process}",
    description: "Processes that were gone, and whose tasks were taken from them.",
  },
  storeLosses: {
    name: "holdfast.store.losses",
    kind: "counter",
    unit: "{loss}",
    description: "How often others took this process for dead.",
  },
  listenerLosses: {
    name: "holdfast.store.listener.losses",
    kind: "counter",
    unit: "{loss}",
    description: "How often the store stopped telling this process of changes by others.",
  },
  writeDuration: {
    name: "holdfast.store.write.duration",
    kind: "histogram",
    unit: "s",
    description: "How long writes to the store took, from when they were asked for until they were durable.",
    buckets: shortSeconds,
  },
  commitSize: {
    name: "holdfast.store.commit.size",
    kind: "histogram",
    unit: "{command}",
    description: "How many commands were committed together.",
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
  },
  pushDelay: {
    name: "holdfast.push.delay",
    kind: "histogram",
    unit: "s",
    description: "How long after a change of a task those who listen were sent it.",
    buckets: shortSeconds,
  },
  slotsUsed: {
    name: "holdfast.slot.usage",
    kind: "up-down counter",
    unit: "{slot}",
    description: "Slots of this process that handlers use.",
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
    description: "Handlers of this process that wait, with what they hold in memory.",
  },
  handlersLeaked: {
    name: "holdfast.handler.leaked",
    kind: "up-down counter",
    unit: "{handler}",
    description: "Handlers of this process that go on although their tasks have ended.",
  },
  queueLength: {
    name: "holdfast.queue.length",
    kind: "gauge",
    unit: "{task}",
    description: "Queued tasks of the whole store, at most 10,000 of each tool and process.",
  },
  queueAge: {
    name: "holdfast.queue.age",
    kind: "gauge",
    unit: "s",
    description:
      "How long the task has been ready that has waited longest for an attempt, in the whole store.",
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
  return { add: (...added) => unfailing(() => counter.add(...added), undefined) };
}

export function histogramOf(meter: Meter, { name, unit, description, buckets }: Of<"histogram">): Histogram {
  const advice = { explicitBucketBoundaries: [...buckets] };
  const histogram = meter.createHistogram(name, { unit, description, advice });
  return { record: (...measured) => unfailing(() => histogram.record(...measured), undefined) };
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
