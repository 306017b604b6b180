import type { BackgroundWork } from "../background-work.ts";
import type { ClientClock } from "../clock.ts";
import type { CallJournal } from "../handles/call-journal.ts";
import { type ErrorReply, replyError } from "../reply/reply.ts";
import type { ListOptions } from "../task-client.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import type { ListedTask, TaskPage } from "./remote-task.ts";
import { withWaitLimit } from "./wait-limit.ts";

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
