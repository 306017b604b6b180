// The message names: idempotentHints
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("report", { annotations: { idempotentHints: true } }, async () => "done");
