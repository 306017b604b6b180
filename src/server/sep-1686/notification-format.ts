import {
  declaresTask,
  nestedRequest,
  logNotification,
  progressNotification,
  relatedTask,
} from "../../generation/sep-1686.ts";
import { withQuestionKey } from "../../generation/extensions.ts";
import { askClient } from "../connection/ask-client.ts";
import type { NotificationFormat } from "../subscriptions/notification-format.ts";
import { askAsTask } from "./ask-as-task.ts";

/**
 * Tasks of SEP-1686 send no status. Their progress, log and questions name the task, and questions have a key (S-057, S-061). If
 * the client declares that it takes such a question as a task, it is asked as one (S-002).
 */
export const format: NotificationFormat = {
  progress: progressNotification,
  log: (line, { tool, wireId }) => logNotification(tool, line, wireId),
  ask(question, { wireId, key }) {
    const { connection, method, params, clock, mayBeTask = true } = question;
    const takes = mayBeTask && method !== "roots/list" && declaresTask(connection.capabilities, method);
    const task = takes ? { taskId: clock.uniqueName() } : undefined;
    const asked = {
      ...question,
      ...nestedRequest(method, withQuestionKey(params, key), wireId, task),
      related: relatedTask(wireId),
    };
    return task === undefined ? askClient({ ...asked, mayBeTask: false }) : askAsTask(asked, task.taskId);
  },
};
