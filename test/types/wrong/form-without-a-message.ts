// The message names: message
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const requestedSchema = z.object({ depth: z.enum(["flat", "deep"]), pages: z.number().optional() });

tasks.tool("scan", {}, async (_, task) => {
  const { action } = await task.elicit("depth", { requestedSchema });
  return action;
});
