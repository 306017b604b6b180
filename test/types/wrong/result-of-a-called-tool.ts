// The message names: summ
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const add = tasks.tool(
  "add",
  { outputSchema: z.object({ sum: z.number(), unit: z.string().optional() }) },
  async () => ({ sum: 3 }),
);

tasks.tool("buy", {}, async (_, task) => {
  const { structuredContent } = await task.call("add", add, {});
  return structuredContent.summ;
});
