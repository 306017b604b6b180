import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addResearch } from "./add-research.ts";

const tasks = createTasks({
  store: sqliteStore("research.db"),
  limits: { search: { concurrency: 4, perMinute: 60 } },
});
addResearch(tasks, process.env["SEARCH_URL"] ?? "http://127.0.0.1:8080/search");

const http = await serveHttp(tasks.server(() => new McpServer({ name: "research", version: "1.0.0" })));
process.on("SIGTERM", () => void http.close());
console.log(`Takes questions at ${http.url}`);
