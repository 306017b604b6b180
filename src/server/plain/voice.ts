import { askClient } from "../connection/ask-client.ts";
import type { Voice } from "../desk/voice.ts";

/** Nothing is said of tasks to callers who know none: a question is one of their call. */
export const voice: Voice = {
  ask: (question) => askClient({ ...question, mayBeTask: false }),
};
