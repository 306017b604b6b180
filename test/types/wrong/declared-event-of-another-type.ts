// The message names: does not satisfy the constraint
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });
const events = { approved: z.object({ by: z.string() }), paid: z.number() };

tasks.tool("publish", { events }, async (_, task) => {
  const { at } = await task.waitForEvent<{ at: string }>("approval", "approved");
  return at;
});
