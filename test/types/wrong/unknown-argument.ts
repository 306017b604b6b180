// The message names: month
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("report", { inputSchema: z.object({ year: z.number() }) }, async ({ month }) => {
  return `${String(month)}`;
});
