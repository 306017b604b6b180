// The message names: "aproved"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });
const events = { approved: z.object({ by: z.string() }), paid: z.number() };

const publish = tasks.tool("publish", { events }, async (_, task) => {
  const { by } = await task.waitForEvent("approval", "approved");
  return by;
});

await publish.sendEvent("id", "aproved", { by: "ann" });
