// The message names: "deeper"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const requestedSchema = z.object({ depth: z.enum(["flat", "deep"]), pages: z.number().optional() });

tasks.tool("scan", {}, async (_, task) => {
  const answer = await task.elicit("depth", { message: "How deep?", requestedSchema });
  return answer.action === "accept" && answer.content.depth === "deeper" ? "yes" : "no";
});
