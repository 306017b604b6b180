// The message names: outputSchema
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

tasks.tool(
  "add",
  { outputSchema: z.object({ sum: z.number(), unit: z.string().optional() }) },
  async (_, task) => {
    await task.step("add", () => 3);
  },
);
