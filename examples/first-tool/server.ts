import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const tasks = createTasks({ store: sqliteStore("tasks.db") });

tasks.tool(
  "report",
  { description: "Renders the report of a month and sends it", inputSchema: z.object({ month: z.string() }) },
  async ({ month }, task) => {
    const pages: string[] = [];
    for (let page = 1; page <= 5; page++) {
      // Runs once, and its result is on disk before the next line.
      pages.push(await task.step(["render", page], () => render(month, page)));
    }
    // Waits for the caller's answer: minutes or weeks, without using memory or a connection.
    const answer = await task.elicit("send", {
      message: `Send the ${pages.length} pages of ${month} to whom?`,
      requestedSchema: z.object({ address: z.string() }),
    });
    if (answer.action !== "accept") return "not sent";
    return `sent ${pages.join(", ")} to ${answer.content.address}`;
  },
);

/** Stands for work that takes a while. */
async function render(month: string, page: number): Promise<string> {
  console.log(`rendering page ${page}`);
  await sleep(2_000);
  return `${month}-${page}.pdf`;
}

const makeServer = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
const http = await serveHttp(makeServer, { port: Number(process.env["PORT"] ?? 3000) });
console.log(http.url);
