// The message names: dept
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const requestedSchema = z.object({ depth: z.enum(["flat", "deep"]), pages: z.number().optional() });

tasks.tool(
  "scan",
  {
    prepare: async (_, ask) => {
      const answer = await ask.elicit("depth", { message: "How deep?", requestedSchema });
      return answer.action === "accept" ? answer.content.dept : "flat";
    },
  },
  async (_, task) => task.prepared,
);
