import {
  nestedRequest,
  logNotification,
  progressNotification,
  statusNotification,
  relatedTask,
  wireTask,
} from "../../generation/2025-11-25.ts";
import { withQuestionKey } from "../../generation/extensions.ts";
import { askClient } from "../connection/ask-client.ts";
import type { NotificationFormat } from "../subscriptions/notification-format.ts";

/** Tasks of 2025-11-25 send their status, progress and log. Their questions name the task, and have a key. */
export const format: NotificationFormat = {
  state: (snapshot) => statusNotification(wireTask(snapshot.task)),
  progress: progressNotification,
  log: (line, { tool, wireId }) => logNotification(tool, line, wireId),
  ask: (question, { wireId, key }) =>
    askClient({
      ...question,
      ...nestedRequest(question.method, withQuestionKey(question.params, key), wireId),
      related: relatedTask(wireId),
    }),
};
