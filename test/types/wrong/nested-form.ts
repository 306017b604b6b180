// The message names: "address"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const requestedSchema = z.object({ name: z.string(), address: z.object({ street: z.string() }) });

tasks.tool("scan", {}, async (_, task) => {
  const { action } = await task.elicit("who", { message: "Who?", requestedSchema });
  return action;
});
