import { mkdir } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addConvert } from "./add-convert.ts";

await mkdir("scratch", { recursive: true });
const tasks = createTasks({ store: sqliteStore("media.db") });
addConvert(tasks, { inbox: "inbox", scratch: "scratch", converter: ["ffmpeg", "-nostdin", "-y", "-i"] });

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "media", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
process.on("SIGTERM", () => void http.close());
console.log(`Converts what is in ./inbox at ${http.url}`);
