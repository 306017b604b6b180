// The message names: 'content' is possibly 'undefined'
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const requestedSchema = z.object({ depth: z.enum(["flat", "deep"]), pages: z.number().optional() });

tasks.tool("scan", {}, async (_, task) => {
  const { content } = await task.elicit("depth", { message: "How deep?", requestedSchema });
  return content.depth;
});
