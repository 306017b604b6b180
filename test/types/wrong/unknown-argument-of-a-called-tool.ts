// The message names: 'count'
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";

const tasks = createTasks({ store: memoryStore() });

const price = tasks.tool("price", { inputSchema: z.object({ item: z.string() }) }, async ({ item }) => item);

tasks.tool("buy", {}, async (_, task) => {
  const { content } = await task.call("price", price, { item: "tea", count: 3 });
  return content.length;
});
