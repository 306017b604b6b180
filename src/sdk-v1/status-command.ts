import type { Result, Task } from "@modelcontextprotocol/sdk/types.js";
import type { TaskCommand } from "../task/command.ts";
import { errorOutcome } from "../task/outcome.ts";
import { token } from "./new-task.ts";

/** The body of a task that was set to completed without a result: it has none to give. */
export const noResult = "null";

/** Ends a task with a result. What the result says of itself does not count: the server names the status. */
export function resultCommand(
  id: string,
  status: "completed" | "failed",
  result: Result,
  now: number,
): TaskCommand<"settle"> {
  const kind = status === "completed" ? "result" : "error_result";
  // A server in plain JavaScript may have none.
  const body = (JSON.stringify(result) as string | undefined) ?? noResult;
  return { type: "settle", now, id, token, outcome: { kind, body } };
}

/** Gives a task a status, and a text with it unless it is empty. */
export function statusCommand(
  id: string,
  status: Task["status"],
  text: string | undefined,
  now: number,
): TaskCommand<"update" | "settle" | "cancel"> {
  const about = { now, id, token };
  const told = text === undefined || text === "" ? {} : { statusMessage: text };
  switch (status) {
    case "working":
    case "input_required":
      return { ...about, type: "update", changes: { ...told, waiting: status === "input_required" } };
    case "cancelled":
      return { type: "cancel", now, id, ...told };
    case "completed":
      return { ...about, ...told, type: "settle", outcome: { kind: "result", body: noResult } };
    case "failed": {
      const message = told.statusMessage ?? "The task failed.";
      return { ...about, ...told, type: "settle", outcome: errorOutcome({ code: -32603, message }) };
    }
  }
}
