// The message names: "sum"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

tasks.tool(
  "add",
  {
    inputSchema: z.object({ a: z.number() }),
    ...{ outputSchema: z.object({ sum: z.number(), unit: z.string().optional() }) },
  },
  async ({ a }) => {
    if (a > 3) return { sum: a };
    return { sum: null };
  },
);
