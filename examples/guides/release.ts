import { appendFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { addRelease } from "./add-release.ts";

const tasks = createTasks({ store: sqliteStore("tasks.db") });
addRelease(tasks, {
  async test(name) {
    await appendFile("tested.txt", `${name}\n`);
    if (name.startsWith("broken")) throw new Error(`2 tests of ${name} fail`);
    return name.length;
  },
  publish: (version, idempotencyKey) => appendFile("published.txt", `${version} ${idempotencyKey}\n`),
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "releases", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000) },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
