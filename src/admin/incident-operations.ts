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
import { countUpTo, described, list, nonEmpty, text } from "./shape.ts";

// A part of the table of operations: why tasks fail, and what operators say of that.

export class DeclaredFailureReads {
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

export class DeclaredFailureActs {
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
