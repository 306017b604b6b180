// The message names: Type 'string'
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("publish", { events: { approved: "ann" } }, async (_, task) => {
  await task.waitForEvent("approval", "approved");
  return "published";
});
