import type { ContentBlock } from "@modelcontextprotocol/client";
import type { LogLine, OutputPart } from "../client/task/task-lines.ts";
import { linesAfter, type StoredTask } from "../store/memory/stored-task.ts";
import type { LogText } from "../task/task-line.ts";

/** The stored log lines, as a client gets them. */
export function logOf(stored: StoredTask): readonly LogLine[] {
  return linesAfter(stored, "log", 0).map(({ seq, at, step, body }) => ({
    seq,
    at: new Date(at).toISOString(),
    ...(JSON.parse(body) as LogText),
    ...(step !== "" && { step }),
  }));
}

/** The stored output, as a client gets it. */
export function outputOf(stored: StoredTask): readonly OutputPart[] {
  return linesAfter(stored, "output", 0).map(({ seq, at, body }) => ({
    seq,
    at: new Date(at).toISOString(),
    content: JSON.parse(body) as ContentBlock,
  }));
}
