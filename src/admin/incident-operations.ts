import * as z from "zod/mini";
import { operation } from "./operation.ts";
import { roles, type OperatorRole } from "./roles.ts";
import {
  countUpTo,
  described,
  list,
  member,
  nonEmpty,
  shown,
  text,
  time,
  content,
  contentOrNull,
  flag,
  membersOf,
  optional,
  textOrNull,
  whole,
  wholeOrNull,
} from "./shape.ts";

// A part of the table of operations: why tasks fail, what operators say of that, and who is logged in.

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

class DeclaredOperatorSession {
  readonly id = member(text);
  readonly actor = member(text);
  readonly role: OperatorRole = member(z.enum(roles));
  readonly since = member(time);
  readonly until = member(time);
}

/** An operator who is logged in to a dashboard. Its id opens nothing. */
export interface OperatorSession extends DeclaredOperatorSession {}

const operatorSession = shown<OperatorSession>("OperatorSession", DeclaredOperatorSession);

class DeclaredSessionReads {
  /** Operators who are logged in to a dashboard of this store, newest first. */
  readonly sessions = operation<() => Promise<readonly OperatorSession[]>>({
    method: "GET",
    path: "/sessions",
    id: "listSessions",
    summary: "List the operators who are logged in to a dashboard",
    role: "admin",
    gives: list(operatorSession),
  });
}

export class DeclaredFailureReads extends DeclaredSessionReads {
  /** Causes whose failed tasks nobody has run again: those that are not muted first, and each time the one that failed last. */
  readonly incidents = operation<
    (options?: { readonly tool?: string; readonly limit?: number }) => Promise<readonly Incident[]>
  >({
    method: "GET",
    path: "/incidents",
    id: "listIncidents",
    summary: "List why tasks fail now: since when, with which version, how many tasks and callers",
    role: "view",
    options: {
      tool: z.optional(described(text, "Causes of failures of this tool.")),
      limit: z.optional(countUpTo(1_000, 100, "The maximum number of causes.")),
    },
    gives: list(incident),
  });

  /** Why tasks of a tool failed, from the newest `limit` (default 1,000) of them, most frequent first. */
  readonly failures = operation<(tool: string, limit?: number) => Promise<readonly FailureGroup[]>>({
    method: "GET",
    path: "/failures/{tool}",
    id: "listFailures",
    summary: "Group a tool's most recent failures by cause, most frequent first",
    role: "view",
    takes: {
      tool: nonEmpty,
      limit: z.optional(countUpTo(10_000, 1_000, "How many of the most recent failures to look at.")),
    },
    gives: list(failureGroup),
  });
}

class DeclaredSessionActs {
  /** Logs an operator out of the dashboard, by the id of the session: within a second, in every process. */
  readonly endSession = operation<(session: string) => Promise<void>>({
    method: "POST",
    path: "/sessions/{session}/end",
    id: "endSession",
    summary: "Log an operator out of the dashboard",
    role: "admin",
    takes: { session: nonEmpty },
  });
}

export class DeclaredFailureActs extends DeclaredSessionActs {
  /** Says something of a cause: that it is known, and a note. Rejects with `invalid_params` for what is no cause. */
  readonly mark = operation<(cause: string, options?: MarkOptions) => Promise<IncidentMark>>({
    method: "POST",
    path: "/incidents/{cause}",
    id: "markIncident",
    summary: "Mute a cause of failures that is known, or leave a note on it",
    role: "act",
    takes: { cause: nonEmpty },
    options: markOptions,
    gives: incidentMark,
  });
}
