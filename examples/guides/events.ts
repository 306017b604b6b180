import { createWriteStream } from "node:fs";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type ServerEvent } from "holdfast";
import { serveHttp } from "holdfast/http";
import { pinoEvents } from "holdfast/pino";
import { sqliteStore } from "holdfast/sqlite";
import { pino } from "pino";
import * as z from "zod";

const logger = pino(pino.destination("server.log"));
const log = pinoEvents(logger, { principal: { hashKey: process.env["LOG_KEY"] ?? "of this example" } });

// An audit log: events name a task's owner, and contain no arguments or results.
const audited: readonly ServerEvent["type"][] = [
  "task.created",
  "task.answered",
  "task.cancel_requested",
  "task.deleted",
  "task.settled",
  "task.retrieved",
  "request.refused",
];
const audit = createWriteStream("audit.jsonl", { flags: "a" });

const tasks = createTasks({
  store: sqliteStore("tasks.db"),
  onEvent: (event) => {
    log(event);
    if (audited.includes(event.type)) audit.write(`${JSON.stringify(event)}\n`);
  },
  onError: (error) => logger.error(error), // faults outside of tasks, such as a full disk
});

tasks.tool(
  "pay",
  { description: "Pays an invoice", inputSchema: z.object({ invoice: z.string(), euros: z.number() }) },
  async ({ euros }, task) => {
    await task.step("check", () => {
      if (euros > 100) throw new Error("beyond the limit");
    });
    return { content: [{ type: "text", text: "paid" }] };
  },
);

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "payments", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 3000), anonymous: "shared" },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
