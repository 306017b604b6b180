// The message names: approver
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });
const events = { approved: z.object({ by: z.string() }), paid: z.number() };

tasks.tool("publish", { events }, async (_, task) => {
  const { approver } = await task.waitForEvent("approval", "approved");
  return String(approver);
});
