import type { ClientClock } from "../clock.ts";
import type { CallKeeper } from "../handles/call-keeper.ts";
import type { ErrorReply } from "../reply/reply.ts";
import { replyError } from "../reply/reply-error.ts";
import type { ListOptions } from "../task-client.ts";
import type { TaskProtocol } from "../task-protocol.ts";
import type { ListedTask, TaskPage } from "./listed-task.ts";
import { within } from "./wait-limit.ts";

interface ListServices {
  readonly protocol: TaskProtocol;
  readonly clock: ClientClock;
  readonly closing: AbortSignal;
  readonly keeper: CallKeeper;
}

/** A page of a server's tasks, with what `resume` takes of each. */
export async function listTasks(
  { protocol, clock, closing, keeper }: ListServices,
  { cursor, ...options }: ListOptions,
): Promise<TaskPage<ListedTask>> {
  const reply = await within(
    options,
    { clock, closing },
    async (signal) => protocol.list?.(cursor, signal) ?? cannotList,
  );
  if (reply.kind !== "value") throw replyError(reply);
  const { tasks, ...others } = reply.value;
  return { ...others, tasks: tasks.map((task) => ({ ...task, reference: keeper.referenceTo(task.taskId) })) };
}

const cannotList: ErrorReply = {
  kind: "error",
  error: { code: -32601, message: "Tasks of this generation cannot be listed" },
};
