// The message names: "sometimes"
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";

const tasks = createTasks({ store: memoryStore() });

tasks.tool("report", { task: "sometimes" }, async () => "done");
