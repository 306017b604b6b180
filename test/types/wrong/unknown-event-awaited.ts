// The message names: "aproved"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });
const events = { approved: z.object({ by: z.string() }), paid: z.number() };

tasks.tool("publish", { events }, async (_, task) => {
  await task.waitForEvent("approval", "aproved");
  return "published";
});
