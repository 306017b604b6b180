import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { encryptedStore } from "holdfast/store";
import * as z from "zod";

// `openssl rand -base64 32` makes a key, here as "2026-11:BASE64". Keep a copy apart from the database.
const keys = process.env["HOLDFAST_ENCRYPTION_KEYS"];
if (keys === undefined)
  throw new Error("Set HOLDFAST_ENCRYPTION_KEYS to a key: 2026-11:$(openssl rand -base64 32)");
const tasks = createTasks({ store: encryptedStore(sqliteStore("tasks.db"), { keys }) });

tasks.tool("greet", { inputSchema: z.object({ name: z.string() }) }, async ({ name }, task) => {
  const greeting = await task.step("greet", () => `Hello, ${name}`);
  return { content: [{ type: "text", text: greeting }] };
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "greeter", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000), anonymous: "shared" },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
