// The message names: Did you mean '"openai"'?
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore(), limits: { openai: { concurrency: 4 } } });

tasks.tool("ask", { limit: "opnai" }, async () => "an answer");
