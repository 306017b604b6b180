import {
  content,
  contentOrNull,
  described,
  flag,
  list,
  member,
  membersOf,
  optional,
  shown,
  text,
  textOrNull,
  time,
  whole,
  wholeOrNull,
} from "./shape.ts";

class DeclaredFailureGroup {
  readonly cause = member(text);
  /** The message of the newest one, with "…" for what varies. */
  readonly message = member(content(text, ""));
  readonly count = member(whole);
  /** The newest of these tasks. */
  readonly taskId = member(text);
  readonly firstAt = member(time);
  readonly lastAt = member(time);
}

/** Tasks of a tool that failed for the same cause: alike but for ids, numbers, addresses and quoted values. */
export interface FailureGroup extends DeclaredFailureGroup {}

export const failureGroup = shown<FailureGroup>("FailureGroup", DeclaredFailureGroup);

/** Parts of the last hour in which a trend counts failures. */
export const trendParts = 12;

class DeclaredIncident {
  readonly cause = member(text);
  readonly tool = member(text);
  /** The message of the newest task, with "…" for what varies. */
  readonly message = member(content(text, ""));
  /** Tasks that failed with this cause and were not run again. */
  readonly open = member(whole);
  /** All that failed with it, at most 10,000. */
  readonly tasks = member(whole);
  /** Callers of the open ones; unidentified ones count as one. */
  readonly callers = member(whole);
  /** When the first of all these tasks failed, and with which version of the tool. */
  readonly firstAt = member(time);
  readonly firstVersion = member(wholeOrNull);
  readonly lastAt = member(time);
  readonly lastVersion = member(wholeOrNull);
  /** Failures in each five minutes of the last hour, the oldest first. */
  readonly trend = member(described(list(whole), "A number for each five minutes, the oldest first."));
  /** The newest open task, and its error. */
  readonly taskId = member(text);
  readonly error = member(contentOrNull);
  /** Whether an operator said that it is known. */
  readonly muted = member(flag);
  readonly note = member(textOrNull);
}

/**
 * Failures of one cause that nobody has run again. `open`, `callers` and `trend` are of at most 50,000 failures: the newest 10,000, and then
 * older ones of each cause in turns. In an encrypted store that has got another key, what fails with it has other causes.
 */
export interface Incident extends DeclaredIncident {}

export const incident = shown<Incident>("Incident", DeclaredIncident);

class DeclaredIncidentMark {
  readonly cause = member(text);
  readonly muted = member(flag);
  readonly note = member(textOrNull);
  /** Who said this last, and when. */
  readonly actor = member(text);
  readonly at = member(time);
}

/** What operators say of a cause. */
export interface IncidentMark extends DeclaredIncidentMark {}

export const incidentMark = shown<IncidentMark>("IncidentMark", DeclaredIncidentMark);

class DeclaredMarkOptions {
  /** It is known: lists show it last. */
  readonly mute? = optional(described(flag, "It is known: lists show it last."));
  readonly unmute? = optional(described(flag, "It is not muted any more."));
  /** Replaces the note; an empty text removes it. */
  readonly note? = optional(described(text, "A note for other operators; an empty one removes it."));
}

/** What changes of the mark. What is left out stays. */
export interface MarkOptions extends DeclaredMarkOptions {}

export const markOptions = membersOf<MarkOptions>(DeclaredMarkOptions);
