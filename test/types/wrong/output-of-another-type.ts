// The message names: "sum"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("add", { outputSchema: z.object({ sum: z.number(), unit: z.string().optional() }) }, async () => {
  return { sum: "3" };
});
