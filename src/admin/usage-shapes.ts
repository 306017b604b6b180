import * as z from "zod/mini";
import {
  behindMs,
  countUpTo,
  described,
  list,
  member,
  membersOf,
  number,
  optional,
  shown,
  text,
  textOrNull,
  time,
  timeOrNull,
  whole,
} from "./shape.ts";
import { entryKind } from "./timeline-shapes.ts";

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
  /** From begin to end, tries and pauses included: at the 50th and 95th percentile, and the longest. */
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
