import { nestedRequest } from "../../generation/sep-1686/nested.ts";
import { progressNotification } from "../../generation/sep-1686/notify.ts";
import { relatedTask } from "../../generation/sep-1686/related-task.ts";
import { askClient } from "../connection/ask-client.ts";
import type { Voice } from "../desk/voice.ts";

/** Tasks of SEP-1686 tell no status; their progress and their questions say whose they are (S-057, S-061). */
export const voice: Voice = {
  progress: progressNotification,
  ask: (question, wireId) =>
    askClient({
      ...question,
      ...nestedRequest(question.method, question.params, wireId),
      related: relatedTask(wireId),
      mayBeTask: false,
    }),
};
