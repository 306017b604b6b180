import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import { addOrder } from "./add-order.ts";

const tasks = createTasks({ store: sqliteStore("tasks.db") });
addOrder(tasks);

const stdio = await serveStdio(tasks.server(() => new McpServer({ name: "shop", version: "1.0.0" })));
process.on("SIGTERM", () => void stdio.close());
