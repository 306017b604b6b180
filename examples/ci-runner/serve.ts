import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addChecks } from "./add-checks.ts";

const tasks = createTasks({ store: sqliteStore("checks.db") });
addChecks(tasks, process.cwd(), {
  types: ["npx", "tsc", "--noEmit"],
  format: ["npx", "prettier", "--check", "."],
  tests: ["npm", "test"],
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "ci-runner", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
process.on("SIGTERM", () => void http.close());
console.log(`Runs the checks of ${process.cwd()} at ${http.url}`);
