// The message names: Did you mean '"openai"'?
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const limits = { openai: { concurrency: 4, perMinute: 60 } };

declare module "holdfast" {
  interface KnownLimits extends Record<keyof typeof limits, unknown> {}
}

const tasks = createTasks({ store: memoryStore(), limits });

tasks.tool("ask", {}, async (_, task) => task.step("ask", { limit: "opnai" }, () => "an answer"));
