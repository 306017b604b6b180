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
} from "./shape.ts";

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
