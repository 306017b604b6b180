import * as z from "zod/mini";
import { inputMethods } from "../task/journal.ts";
import {
  contentOrNull,
  countUpTo,
  described,
  list,
  member,
  membersOf,
  optional,
  shown,
  text,
  textOrNull,
  timeOrNull,
  whole,
  wholeOrNull,
} from "./shape.ts";

export const questionMethod = z.enum(inputMethods);

export const entryKind = z.enum(["step", "input", "sleep", "call", "event", "artifact", "loop"]);

class DeclaredTimelineEntry {
  readonly key = member(text);
  readonly kind = member(entryKind);
  /** The method of a question's request. */
  readonly method = member(z.nullable(questionMethod));
  readonly begunAt = member(timeOrNull);
  readonly doneAt = member(timeOrNull);
  readonly durationMs = member(wholeOrNull);
  /** Steps: how often it failed with a retry to follow. Loops: the number of its round. */
  readonly tries = member(whole);
  /** When an open wait ends at the latest, or when a step is retried. */
  readonly until = member(timeOrNull);
  /** The error with which it failed. */
  readonly error = member(contentOrNull);
  /** The task of a call that has not ended, or that failed. Others are deleted when they end. */
  readonly childId = member(textOrNull);
  /** The limit by name for which it waits, or a list of the name and a key as JSON; left out for one that waits for none. */
  readonly limit? = optional(text);
}

/** A step, a question, a sleep, a call of another tool or a wait for an event. In a timeline, in the order in which they began. */
export interface TimelineEntry extends DeclaredTimelineEntry {}

export const timelineEntry = shown<TimelineEntry>("TimelineEntry", DeclaredTimelineEntry);

class DeclaredTimelineSummary {
  readonly entries = member(whole);
  /** Those with an error, including steps that are to be tried again. */
  readonly failed = member(whole);
  /** Those that have not ended. */
  readonly open = member(whole);
}

/** What the timeline of a task has in all. */
export interface TimelineSummary extends DeclaredTimelineSummary {}

export const timelineSummary = shown<TimelineSummary>("TimelineSummary", DeclaredTimelineSummary);

class DeclaredTimelinePage {
  /** In the order in which they began. */
  readonly entries = member(list(timelineEntry));
  /** Where the next page begins; null on the last page. */
  readonly next = member(wholeOrNull);
}

/** Entries of the timeline of a task, and where the next page begins. */
export interface TimelinePage extends DeclaredTimelinePage {}

export const timelinePage = shown<TimelinePage>("TimelinePage", DeclaredTimelinePage);

class DeclaredTimelineQuery {
  /** Maximum number of entries, from 1 to 1,000. Default 200. */
  readonly limit? = optional(countUpTo(1_000, 200, "The maximum number of entries."));
  /** The `next` of the previous page. */
  readonly after? = optional(described(whole, "The next of the previous page."));
}

/** Which part of the timeline of a task to read. */
export interface TimelineQuery extends DeclaredTimelineQuery {}

export const timelineQuery = membersOf<TimelineQuery>(DeclaredTimelineQuery);
