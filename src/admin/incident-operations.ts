import * as z from "zod/mini";
import {
  failureGroup,
  incident,
  incidentMark,
  markOptions,
  type FailureGroup,
  type Incident,
  type IncidentMark,
  type MarkOptions,
} from "./incident-shapes.ts";
import { operation } from "./operation.ts";
import { roles, type OperatorRole } from "./roles.ts";
import { countUpTo, described, list, member, nonEmpty, shown, text, time } from "./shape.ts";

// A part of the table of operations: why tasks fail, what operators say of that, and who is logged in.

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
