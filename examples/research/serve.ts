import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addResearch } from "./add-research.ts";

const { SEARCH_URL } = process.env;
if (SEARCH_URL === undefined) throw new Error("Set SEARCH_URL to the service that is asked.");

const tasks = createTasks({
  store: sqliteStore("research.db"),
  limits: { search: { concurrency: 4, perMinute: 60 } },
});
addResearch(tasks, SEARCH_URL);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "research", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
process.on("SIGTERM", () => void http.close());
console.log(`Takes questions at ${http.url}`);
