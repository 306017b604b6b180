// The message names: number
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("scan", { prepare: () => 3 }, async (_, task) => {
  return task.prepared.trim();
});
