// The message names: a handler returns a tool result, a text or plain data
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("mail", {}, async (_, task) => {
  await task.step("send", () => "sent");
});
