import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addHash } from "./add-hash.ts";

const tasks = createTasks({ store: sqliteStore("hashes.db") });
addHash(tasks);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "hashing", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
process.on("SIGTERM", () => void http.close());
console.log(`Hashes files at ${http.url}`);
