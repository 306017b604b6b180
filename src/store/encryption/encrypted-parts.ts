import type { StoredAction } from "../../task/record.ts";
import type { AdminStore, PausedTool } from "../admin-store.ts";
import type { MessageQueues, NewMessage } from "../message-queues.ts";
import type { TaskLogs } from "../task-logs.ts";
import type { Encryption } from "./encryption.ts";
import { body, clear, each, members } from "./form.ts";
import { opened } from "./opened-reads.ts";
import { line, record } from "./task-forms.ts";

type Both = Pick<Encryption, "sealing" | "opening">;

export function encryptedLogs(inner: TaskLogs, { opening }: Both): Required<TaskLogs> {
  return {
    read: async (id, ...page) => opened(id, each(line), await inner.read(id, ...page), opening),
  };
}

const message = members<NewMessage>({ body, bound: clear });

export function encryptedMessages(inner: MessageQueues, { sealing, opening }: Both): Required<MessageQueues> {
  return {
    put: async (taskId, given, maxMessages) => inner.put(taskId, message(given, sealing), maxMessages),
    take: async (taskId, limit) => opened(taskId, each(body), await inner.take(taskId, limit), opening),
  };
}

/** Only keys of questions, names of entries and times: an action contains no data of a task. */
const action = members<StoredAction>({
  seq: clear,
  at: clear,
  actor: clear,
  action: clear,
  taskId: clear,
  tool: clear,
  detail: clear,
});
const paused = members<PausedTool>({ tool: clear, since: clear, actor: clear });

export function encryptedAdmin(inner: AdminStore, { opening }: Both): Required<AdminStore> {
  return {
    tasks: async (...page) => (await inner.tasks(...page)).map((task) => record(task, opening)),
    count: (...range) => inner.count(...range),
    endedTools: () => inner.endedTools(),
    queues: (most) => inner.queues(most),
    actions: async (...page) => (await inner.actions(...page)).map((stored) => action(stored, opening)),
    paused: async () => (await inner.paused()).map((stored) => paused(stored, opening)),
  };
}
