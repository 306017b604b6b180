// The message names: a step cannot return a function or a symbol
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("scan", {}, async (_, task) => {
  await task.step("make", () => () => 3);
  return "done";
});
