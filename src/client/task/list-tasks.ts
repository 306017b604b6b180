import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock } from "../clock.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import { type ErrorReply, replyError } from "../reply/reply.ts";
import type { ListOptions } from "../task-client.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import type { ListedTask, TaskPage, TaskReference } from "./remote-task.ts";
import { withWaitLimit } from "./task-handle.ts";
import { isJsonObject } from "../../generation/message.ts";
import { TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";

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

interface ListServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly background: BackgroundWork;
  readonly journal: CallJournal;
}

/** A page of a server's tasks, each with its reference. */
export async function listTasks(
  { protocol, clock, background, journal }: ListServices,
  { cursor, ...options }: ListOptions,
): Promise<TaskPage<ListedTask>> {
  const reply = await withWaitLimit(
    options,
    { clock, background },
    async (signal) => protocol.list?.(cursor, signal) ?? cannotList,
  );
  if (reply.kind !== "value") throw replyError(reply);
  const { tasks, ...others } = reply.value;
  return {
    ...others,
    tasks: tasks.map((task) => ({ ...task, reference: journal.referenceTo(task.taskId) })),
  };
}

const cannotList: ErrorReply = {
  kind: "error",
  error: { code: -32601, message: "This version of the Tasks protocol cannot list tasks" },
};
