import { isJsonObject } from "../../generation/message.ts";
import { TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";
import type { TaskReference } from "./remote-task.ts";

/** Checks that the reference belongs to this server, so that its id is not sent to another one. */
export function checkReference(value: unknown, server: string, generation: string): TaskReference {
  if (value === null) {
    throw new TaskClientError("reference", "The call was answered at once, so there is no task to resume");
  }
  if (!isReference(value)) {
    throw new TaskClientError(
      "reference",
      "This is not a task reference: it needs server, generation and taskId",
    );
  }
  if (value.server !== server || value.generation !== generation) {
    throw new TaskClientError(
      "reference",
      `The task belongs to ${redacted(value.server)} (${value.generation}), but this client is connected to ${server} (${generation})`,
      { reference: value },
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
