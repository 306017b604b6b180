// The message names: a form is an object of fields
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("scan", {}, async (_, task) => {
  const { action } = await task.elicit("who", { message: "Who?", requestedSchema: z.string() });
  return action;
});
