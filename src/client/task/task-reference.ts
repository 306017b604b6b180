import { isJsonObject } from "../../generation/json-object.ts";
import { TaskClientError } from "../task-client-error.ts";

/**
 * All that is needed to find a task again: plain data, safe to write to a file as JSON. Without authentication the
 * task id is the only key to the task, so keep it like a password.
 */
export interface TaskReference {
  /** The server that holds the task: its URL, or what else `connect` names it by, see `serverName`. */
  readonly server: string;
  /** The form of the Tasks protocol that the task was made in; it is visible through no other. */
  readonly generation: string;
  readonly taskId: string;
}

/** The reference itself, after a check that it belongs to this server: an id is not shown to strangers. */
export function checkReference(value: unknown, server: string, generation: string): TaskReference {
  if (value === null) {
    throw new TaskClientError("reference", "That call was answered at once: there is no task to resume");
  }
  if (!isReference(value)) {
    throw new TaskClientError(
      "reference",
      "This is no task reference: it needs server, generation and taskId",
    );
  }
  if (value.server !== server || value.generation !== generation) {
    throw new TaskClientError(
      "reference",
      `The task belongs to ${value.server} (${value.generation}), and this client is connected to ${server} (${generation})`,
      { taskId: value.taskId },
    );
  }
  return value;
}

function isReference(value: unknown): value is TaskReference {
  return (
    isJsonObject(value) &&
    typeof value["server"] === "string" &&
    typeof value["generation"] === "string" &&
    typeof value["taskId"] === "string" &&
    value["taskId"] !== ""
  );
}
