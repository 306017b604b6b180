// A server with tools for the walks of this folder: node reports-server.ts stdio|http. Over HTTP it prints its URL.
import { once } from "node:events";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { serveStdio } from "holdfast/stdio";
import * as z from "zod";

const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

const tasks = createTasks({
  store: sqliteStore(process.env["REPORTS_DB"] ?? "tasks.db"),
  pollIntervalMs: 100,
});

/** A call of any of them may run twice. */
const annotations = { idempotentHint: true };

tasks.tool(
  "shout",
  {
    annotations,
    task: "forbidden",
    description: "Says a word louder",
    inputSchema: z.object({ word: z.string(), times: z.int().min(1).max(9).optional() }),
  },
  ({ word, times = 1 }) => text(`${word.toUpperCase()}! `.repeat(times).trim()),
);

tasks.tool(
  "publish_report",
  {
    annotations,
    description:
      "Makes the report of a month, asks who may read it, and publishes it. It can be called again with the same month: then it replaces the report that is there.",
    inputSchema: z.object({
      month: z
        .string()
        .regex(/^\d{4}-\d\d$/)
        .describe("The month, such as 2026-10"),
      format: z.enum(["html", "pdf"]).default("pdf").describe("What the report is written as"),
    }),
    requires: ["elicitation"],
  },
  async ({ month, format }, task) => {
    task.progress(1, 2, `made the report of ${month}`);
    const { action, content } = await task.elicit("readers", {
      message: `The report of ${month} is ready. Who may read it?`,
      requestedSchema: {
        type: "object",
        properties: {
          readers: {
            type: "string",
            title: "Readers",
            oneOf: [
              { const: "all", title: "Everyone" },
              { const: "staff", title: "The staff" },
              { const: "none", title: "Nobody yet" },
            ],
          },
          note: { type: "string", title: "Note", description: "A line above the report" },
        },
        required: ["readers"],
      },
    });
    if (action !== "accept") return text(`Not published: the question was answered with ${action}.`);
    task.progress(2, 2, "published");
    return text(`Published the report of ${month} as ${format}, for ${JSON.stringify(content)}.`);
  },
);

tasks.tool(
  "count_orders",
  { annotations, description: "Counts the orders of a year", inputSchema: z.object({ year: z.int() }) },
  async ({ year }, task) => {
    await task.log("info", "read the orders", { year });
    return text(`${year}: 1234 orders`);
  },
);

tasks.tool(
  "archive",
  {
    annotations,
    description: "Copies folders until it is cancelled",
    inputSchema: z.object({ folder: z.string() }),
  },
  async ({ folder }, task) => {
    task.progress(2, 5, `copied 2 of 5 folders below ${folder}`);
    task.signal.throwIfAborted();
    await once(task.signal, "abort");
    throw task.signal.reason;
  },
);

const makeServer = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
if (process.argv[2] === "stdio") await serveStdio(makeServer);
else console.log((await serveHttp(makeServer, { port: 0 })).url);
