import type { TaskDetails } from "../../../../../src/admin/admin.ts";
import type { TimelineEntry } from "../../../../../src/admin/task-parts.ts";

type Attempt = TaskDetails["attempts"][number];
type Delivery = TaskDetails["deliveries"][number];

export type RowKind = "queue" | "attempt" | TimelineEntry["kind"] | "webhook" | "cancel";

/** One row of a timeline. Times are epoch milliseconds. */
export interface TimelineRow {
  readonly id: string;
  readonly kind: RowKind;
  readonly name: string;
  /** Null if its start is unknown. */
  readonly from: number | null;
  /** Null while it continues. */
  readonly to: number | null;
  /** How it ended, or its state, in a word. */
  readonly state: string;
  readonly isFailed: boolean;
  /** Further details. */
  readonly notes: readonly string[];
  /** The error. */
  readonly error: string | null;
  /** When it continues, or is given up. */
  readonly until: number | null;
  /** The task that it called. */
  readonly childId: string | null;
}

export type Drawn = Pick<
  TaskDetails,
  "createdAt" | "startedAt" | "finishedAt" | "cancelRequestedAt" | "attempts" | "timeline" | "deliveries"
>;

const plain = {
  isFailed: false,
  notes: [],
  error: null,
  until: null,
  childId: null,
} as const;

/** Everything that happened to a task, in order of its start; at the same time, attempts come first. */
export function rowsOf(task: Drawn): readonly TimelineRow[] {
  const rows = [
    ...queueRow(task),
    ...attemptRows(task),
    ...task.timeline.map((entry) => entryRow(entry, task)),
    ...cancelRow(task),
    ...task.deliveries.map(deliveryRow),
  ];
  // An entry without a time follows the one that it came after.
  let last = task.createdAt;
  const placed = rows.map((row) => {
    const at = row.from ?? row.to;
    if (at !== null || !isEntry(row)) last = at ?? last;
    return { row, at: at ?? last };
  });
  return placed.sort((a, b) => a.at - b.at).map(({ row }) => row);
}

function isEntry({ kind }: TimelineRow): boolean {
  return kind !== "queue" && kind !== "attempt" && kind !== "webhook" && kind !== "cancel";
}

/** The wait for a slot to run in. */
function queueRow({ createdAt, startedAt, finishedAt }: Drawn): readonly TimelineRow[] {
  const to = startedAt ?? finishedAt;
  if (to !== null && to <= createdAt) return [];
  const state = to === null ? "waiting" : "waited";
  return [{ ...plain, id: "queue", kind: "queue", name: "Queue", from: createdAt, to, state }];
}

function attemptRows({ attempts, finishedAt }: Drawn): readonly TimelineRow[] {
  return attempts.flatMap((attempt, place) => {
    const before = attempts[place - 1]?.number ?? 0;
    return [
      ...leftOut(before + 1, attempt.number - 1, attempt),
      attemptRow(attempt, finishedAt, place === attempts.length - 1),
    ];
  });
}

/** Of many attempts, only the first and the last ones are kept. */
function leftOut(first: number, last: number, { startedAt }: Attempt): readonly TimelineRow[] {
  if (last < first) return [];
  const name = first === last ? `Attempt ${first}` : `Attempts ${first} to ${last}`;
  const id = `left out ${first}`;
  return [{ ...plain, id, kind: "attempt", name, from: null, to: startedAt, state: "not kept" }];
}

const endNames: Readonly<Record<NonNullable<Attempt["end"]>, string>> = {
  settled: "completed",
  failed: "failed",
  cancelled: "cancelled",
  expired: "timed out",
  parked: "paused while waiting",
  released: "released by its process",
  retried: "failed, will be retried",
  blocked: "blocked: its code could not continue the task",
  lost: "interrupted: its process is gone",
  next_round: "ended a round of its loop",
};

/** How an attempt ended that was followed by another. */
function formerEndName(end: NonNullable<Attempt["end"]>): string {
  return end === "retried" ? "failed, then retried" : endNames[end];
}

/** Usually enough to tell processes apart. */
const shownOfOwner = 8;

const failedEnds: readonly unknown[] = ["failed", "expired", "retried", "lost"];

function attemptRow(
  { number, owner, startedAt, endedAt, end, error }: Attempt,
  finishedAt: number | null,
  isLast: boolean,
): TimelineRow {
  const to = endedAt ?? finishedAt;
  return {
    ...plain,
    id: `attempt ${number}`,
    kind: "attempt",
    name: `Attempt ${number}`,
    from: startedAt,
    to,
    state: end === null ? (to === null ? "running" : "ended") : isLast ? endNames[end] : formerEndName(end),
    isFailed: failedEnds.includes(end),
    notes: [`on ${owner.slice(0, shownOfOwner)}`],
    // A lost attempt's state says the same as its error.
    error: end === "lost" ? null : (error ?? null),
  };
}

function entryRow(entry: TimelineEntry, { finishedAt }: Drawn): TimelineRow {
  const { key, kind, method, begunAt, doneAt, tries, until, error, childId } = entry;
  const to = doneAt ?? finishedAt;
  const isOpen = to === null;
  return {
    id: `entry ${key}`,
    kind,
    name: key,
    from: begunAt,
    to,
    state: stateOf(entry, isOpen),
    isFailed: error !== null,
    notes: [
      ...(method !== null && method !== "elicitation/create" ? [method] : []),
      ...(kind === "loop" ? [`round ${tries}`] : []),
      ...(kind !== "loop" && tries > 0 ? [`retried ${tries} ${tries === 1 ? "time" : "times"}`] : []),
    ],
    error,
    until: isOpen ? until : null,
    childId,
  };
}

function stateOf({ kind, doneAt, error, limit }: TimelineEntry, isOpen: boolean): string {
  if (limit !== undefined && isOpen) return `waiting for the limit ${limit}`;
  if (error !== null) return doneAt === null && isOpen ? "failed, will be retried" : "failed";
  if (doneAt !== null) return doneNames[kind];
  return isOpen ? openNames[kind] : "unfinished";
}

const doneNames: Readonly<Record<TimelineEntry["kind"], string>> = {
  step: "done",
  input: "answered",
  sleep: "done",
  call: "done",
  event: "received",
  artifact: "stored",
  loop: "ended",
};

const openNames: Readonly<Record<TimelineEntry["kind"], string>> = {
  step: "running",
  input: "waiting for an answer",
  sleep: "sleeping",
  call: "running",
  event: "waiting",
  artifact: "being stored",
  loop: "running",
};

function cancelRow({ cancelRequestedAt: at }: Drawn): readonly TimelineRow[] {
  if (at === null) return [];
  return [{ ...plain, id: "cancel", kind: "cancel", name: "Cancel", from: at, to: at, state: "requested" }];
}

function deliveryRow({ webhook, event, at, tries, nextAt, problem }: Delivery, place: number): TimelineRow {
  return {
    ...plain,
    id: `webhook ${place}`,
    kind: "webhook",
    name: `${webhook}: ${event}`,
    from: at,
    to: at,
    state: nextAt === null ? "given up" : tries === 0 ? "waiting to be sent" : "will be resent",
    isFailed: nextAt === null,
    notes: tries > 0 ? [`tried ${tries} ${tries === 1 ? "time" : "times"}`] : [],
    error: problem,
    until: nextAt,
  };
}
