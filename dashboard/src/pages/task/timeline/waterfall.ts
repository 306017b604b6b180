import type { TimelineRow } from "./timeline-rows.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const units = [
  ["d", day],
  ["h", hour],
  ["min", minute],
  ["s", second],
  ["ms", 1],
] as const;

/** The distances between ticks, in common units of time. */
const steps: readonly number[] = [
  ...[1, 10, 100].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].map((count) => count * day),
];

const mostTicks = 6;

interface Tick {
  /** Since the beginning, such as `20 s`. */
  readonly text: string;
  /** In percent of the axis. */
  readonly left: number;
}

/** The time to draw: from the creation of the task to its end, or until now. */
export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly Tick[];
}

/** An axis with room for all rows. `now` is the browser's time, which may be behind the server's. */
export function axisOf(rows: readonly TimelineRow[], createdAt: number, now: number): Axis {
  let to = createdAt + 1;
  for (const row of rows) {
    const last = row.to ?? Math.max(now, row.from ?? now);
    if (last > to) to = last;
  }
  return { from: createdAt, to, ticks: ticksOf(to - createdAt) };
}

function ticksOf(span: number): readonly Tick[] {
  const step = steps.find((each) => span / each <= mostTicks) ?? Math.ceil(span / mostTicks / day) * day;
  const [unit, size] = units.find(([, each]) => step >= each) ?? ["ms", 1];
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, place) => ({
    text: `${(place * step) / size} ${unit}`,
    left: (100 * place * step) / span,
  }));
}

export interface Bar {
  /** In percent of the axis. */
  readonly left: number;
  readonly width: number;
  /** Whether it happened at one time, with no known duration. */
  readonly isMark: boolean;
  readonly isOpen: boolean;
}

/** Where to draw a row; undefined if its time is unknown. */
export function barOf({ kind, from, to }: TimelineRow, axis: Axis): Bar | undefined {
  const begin = from ?? to;
  if (begin === null) return undefined;
  const end = to ?? axis.to;
  const left = percentOf(begin, axis);
  const isMark = from === null || kind === "webhook" || kind === "cancel";
  const width = isMark ? 0 : Math.max(0, percentOf(end, axis) - left);
  return { left, width, isMark, isOpen: to === null };
}

function percentOf(at: number, { from, to }: Axis): number {
  return Math.min(100, Math.max(0, (100 * (at - from)) / (to - from)));
}
