import * as z from "zod/mini";
import {
  behindMs,
  byMinute,
  described,
  flag,
  list,
  member,
  membersOf,
  number,
  numberOrNull,
  optional,
  shown,
  text,
  textOrNull,
  time,
  timeOrNull,
  whole,
  wholeOrNull,
  countUpTo,
} from "./shape.ts";
import { entryKind } from "./task-parts.ts";

class DeclaredToolActivity {
  readonly tool = member(text);
  readonly created = member(whole);
  readonly completed = member(whole);
  readonly failed = member(whole);
  readonly cancelled = member(whole);
  /** How often a handler threw and ran again. */
  readonly retried = member(whole);
  /** Tasks that ended, by minute. */
  readonly ended = member(byMinute);
  /** How long tasks took from creation to end, at the 50th and 95th percentile (within 10 %); null if none ended. */
  readonly p50Ms = member(numberOrNull);
  readonly p95Ms = member(numberOrNull);
}

/** What happened to the tasks of one tool. */
export interface ToolActivity extends DeclaredToolActivity {}

class DeclaredRefusalActivity {
  /** The `code` of the event `request.refused`. */
  readonly code = member(text);
  /** The JSON-RPC method, if known. */
  readonly method = member(textOrNull);
  readonly count = member(whole);
  readonly byMinute = member(byMinute);
}

/** Requests refused for the same reason. */
export interface RefusalActivity extends DeclaredRefusalActivity {}

class DeclaredActivity {
  /** When the first minute began (epoch ms). */
  readonly from = member(time);
  readonly minutes = member(whole);
  /** Tasks of all tools, by minute. */
  readonly created = member(byMinute);
  readonly completed = member(byMinute);
  readonly failed = member(byMinute);
  readonly cancelled = member(byMinute);
  /** Sorted by name. Tools without activity are left out. */
  readonly tools = member(list(shown<ToolActivity>("ToolActivity", DeclaredToolActivity)));
  /** Most frequent first. */
  readonly refusals = member(list(shown<RefusalActivity>("RefusalActivity", DeclaredRefusalActivity)));
  /** How far the replica was behind that it was read from (ms); left out if it was read from the store itself. */
  readonly behindMs? = optional(behindMs);
}

/**
 * What the processes of a store counted in the last minutes. Lists by minute have one number per minute, oldest first; the last minute is
 * not over.
 */
export interface Activity extends DeclaredActivity {}

export const activity = shown<Activity>("Activity", DeclaredActivity);

class DeclaredNodeSummary {
  /** The owner id stored with its tasks. */
  readonly id = member(text);
  /** False: the process is gone, and others take over its tasks. */
  readonly alive = member(flag);
  readonly host = member(textOrNull);
  readonly pid = member(wholeOrNull);
  /** The version of the package. */
  readonly version = member(textOrNull);
  readonly startedAt = member(timeOrNull);
  /** Its last report (epoch ms). */
  readonly reportedAt = member(timeOrNull);
  readonly roles = member(list(text));
  /** Slots in use by handlers, and the total. */
  readonly slots = member(z.nullable(z.object({ used: whole, limit: whole })));
  /** Its tasks that are running now, according to the store; at most 10,000. Those that wait are not counted. */
  readonly running = member(whole);
  /** Waiting handlers that stay in memory. */
  readonly parked = member(wholeOrNull);
  /** Handlers that keep running although their tasks have ended. */
  readonly leaked = member(wholeOrNull);
  /** Event loop delay, in milliseconds. */
  readonly loopDelay = member(z.nullable(z.object({ p50: number, p99: number, max: number })));
  readonly memoryBytes = member(wholeOrNull);
  /** Whether it takes nothing new: until when its steps may go on, and what it still has in memory; null until it has said so. */
  readonly draining = member(z.nullable(z.object({ until: time, left: wholeOrNull })));
}

/** A process that has the store open, or had it until recently. Values that it has not reported are null. */
export interface NodeSummary extends DeclaredNodeSummary {}

class DeclaredDrainOptions {
  /** How long running steps may go on, from 0 ms to a day. Default 30 seconds. What still runs then is handed over as when a server stops. */
  readonly withinMs? = optional(
    described(
      z.int().check(z.gte(0), z.lte(86_400_000), z.meta({ default: 30_000 })),
      "How long running steps may go on (ms).",
    ),
  );
  /** Take work again. Default false. */
  readonly undo? = optional(described(flag, "Take work again."));
}

/** How a process is drained. */
export interface DrainOptions extends DeclaredDrainOptions {}

export const drainOptions = membersOf<DrainOptions>(DeclaredDrainOptions);

export const nodeSummary = shown<NodeSummary>("NodeSummary", DeclaredNodeSummary);

class DeclaredCallerUsage {
  /** Null: unidentified callers, together. */
  readonly principal = member(textOrNull);
  readonly tasks = member(whole);
  readonly failed = member(whole);
  /** How long handlers worked on these tasks (ms), by their first and last attempts. Waits outside of memory are not counted. */
  readonly workedMs = member(whole);
}

/** What a caller's tasks came to, those that they called included. */
export interface CallerUsage extends DeclaredCallerUsage {}

class DeclaredCallers {
  /** The tasks that were looked at, and since when they were created (epoch ms): the newest 20,000 of the time asked for. */
  readonly tasks = member(whole);
  readonly from = member(time);
  readonly callers = member(list(shown<CallerUsage>("CallerUsage", DeclaredCallerUsage)));
  /** How far the replica was behind that it was read from (ms); left out if it was read from the store itself. */
  readonly behindMs? = optional(behindMs);
}

/** The callers with the most failed tasks, or with those that were worked on longest. */
export interface Callers extends DeclaredCallers {}

export const callers = shown<Callers>("Callers", DeclaredCallers);

class DeclaredCallersQuery {
  /** Tasks created in so many minutes, from 1 to 10,080 (a week). Default 60. */
  readonly minutes? = optional(countUpTo(10_080, 60, "The tasks created in so many minutes."));
  /** What the first ones have most of: failed tasks (`failures`, the default), or time that handlers worked (`time`). */
  readonly by? = optional(
    described(z.enum(["failures", "time"]), "What to sort by: failures (the default), or time."),
  );
  /** Maximum number of callers, from 1 to 1,000. Default 20. */
  readonly limit? = optional(countUpTo(1_000, 20, "The maximum number of callers."));
}

/** Which callers to show. */
export interface CallersQuery extends DeclaredCallersQuery {}

export const callersQuery = membersOf<CallersQuery>(DeclaredCallersQuery);

class DeclaredStepLatency {
  /** The key of the step. For items of a collection, the first part of their keys. */
  readonly name = member(text);
  readonly kind = member(entryKind);
  /** Those that ended. */
  readonly count = member(whole);
  /** From start to end, tries and pauses included: at the 50th and 95th percentile, and the longest. */
  readonly p50Ms = member(number);
  readonly p95Ms = member(number);
  readonly maxMs = member(number);
  /** The task with the longest. */
  readonly taskId = member(text);
}

/** How long the steps with a name took, or questions, sleeps, calls and waits for events. */
export interface StepLatency extends DeclaredStepLatency {}

class DeclaredToolLatency {
  /** The newest tasks that have ended, which were looked at, and since when they were created (epoch ms). Null: there is none. */
  readonly tasks = member(whole);
  readonly from = member(timeOrNull);
  /** Slowest at the 95th percentile first, at most 200. Of each task, at most 1,000 entries are looked at. */
  readonly steps = member(list(shown<StepLatency>("StepLatency", DeclaredStepLatency)));
}

/** How long the steps of a tool take, from what is stored of its tasks. */
export interface ToolLatency extends DeclaredToolLatency {}

export const toolLatency = shown<ToolLatency>("ToolLatency", DeclaredToolLatency);
