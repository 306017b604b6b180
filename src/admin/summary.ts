import { cutText, encryptedText, isSealed } from "../task/stored-text.ts";
import type { Outcome } from "../task/outcome.ts";
import type { TaskRecord } from "../task/record.ts";
import { latestTime } from "../task/time.ts";
import { waitsForOf } from "../task/task-line.ts";
import type { AdminTaskState, TaskSummary } from "./admin.ts";

/** A task's state for operators. */
export function adminStateOf(
  task: Pick<TaskRecord, "state" | "outcomeKind" | "lane" | "openInputs" | "waiting"> & {
    readonly blocked?: object;
  },
): AdminTaskState {
  switch (task.state) {
    case "cancelled":
      return "cancelled";
    case "settled":
      return task.outcomeKind === "result" ? "completed" : "failed";
    case "queued":
    case "running":
      if (task.blocked !== undefined) return "blocked";
      if (task.openInputs > 0) return "input_required";
      if (task.state === "running") return task.waiting ? "waiting" : "running";
      return task.lane === null ? "waiting" : "queued";
  }
}

/** A record as operators see it; `outcome` is that of a failed task. */
export function summaryOf(task: TaskRecord, outcome: Outcome | null): TaskSummary {
  const { id, tool, principal, generation, method, createdAt, startedAt, updatedAt, finishedAt } = task;
  const { sweepAt, lane, runAfter, attempt, statusMessage, progress, owner, parent } = task;
  const wakes = lane === null && runAfter !== null && runAfter < latestTime;
  return {
    id,
    tool,
    state: adminStateOf(task),
    waitsFor: waitsForOf(task),
    principal,
    generation,
    method,
    createdAt,
    startedAt,
    updatedAt,
    finishedAt,
    expiresAt: sweepAt,
    wakesAt: wakes ? runAfter : null,
    attempt,
    statusMessage,
    progress,
    error: outcome === null ? null : errorText(outcome),
    cause: task.cause ?? null,
    owner,
    parent: parent?.id ?? null,
    retriedAs: task.retriedAs ?? null,
    blocked: task.blocked ?? null,
  };
}

/** A failure's message, on one line; null if it did not fail. */
export function errorText({ kind, body }: Outcome): string | null {
  if (kind === "result") return null;
  const text = kind === "error" ? messageIn(parsed(body)) : textIn(parsed(body));
  return cutText(text.replaceAll(/\s+/g, " ").trim());
}

/** A body as JSON; a note if it is encrypted. A body that cannot be parsed is shown as it is. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return isSealed(body) ? encryptedText : body;
  }
}

function messageIn(error: unknown): string {
  if (typeof error === "string") return error;
  if (typeof error === "object" && error !== null && "message" in error && typeof error.message === "string")
    return error.message;
  return JSON.stringify(error);
}

/** The text in a tool's result. */
function textIn(result: unknown): string {
  if (typeof result === "string") return result;
  const content: unknown =
    typeof result === "object" && result !== null && "content" in result ? result.content : undefined;
  const texts = (Array.isArray(content) ? (content as unknown[]) : []).flatMap((block) =>
    typeof block === "object" && block !== null && "text" in block && typeof block.text === "string"
      ? [block.text]
      : [],
  );
  return texts.length > 0 ? texts.join(" ") : JSON.stringify(result);
}
