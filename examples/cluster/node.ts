// One of the nodes of the demo: all are the same, on one database.
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { postgresStore } from "holdfast/postgres";
import * as z from "zod";
import { pageMs, pagesPerBook, type ClusterSetup, type PageEvent } from "./cluster-setup.ts";

const { url, schema, leaseMs, log } = JSON.parse(process.argv[2] ?? "") as ClusterSetup;

function note(event: PageEvent["event"], book: number, page: number): void {
  const entry: PageEvent = { pid: process.pid, at: Date.now(), event, book, page };
  appendFileSync(log, `${JSON.stringify(entry)}\n`); // synchronous, so that no kill comes in between
}

const tasks = createTasks({
  store: postgresStore(url, { schema, leaseMs }),
  pollIntervalMs: 100,
  crashBackoffMs: 100,
});

tasks.tool(
  "print_book",
  { description: "Prints a book page by page.", inputSchema: z.object({ book: z.number() }) },
  async ({ book }, task) => {
    for (let page = 1; page <= pagesPerBook; page++) {
      await task.step(["page", page], async () => {
        note("begin", book, page);
        // So that books that begin together do not print their pages in step.
        await pause(pageMs * (0.6 + ((book * 7 + page * 3) % 9) / 10));
        return process.pid;
      });
      note("kept", book, page);
    }
    return { content: [{ type: "text", text: `book ${book} printed` }] };
  },
);

try {
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "printer", version: "1.0.0" })),
    { port: 0 },
  );
  // The demo holds the other end of this pipe, and closes it to end its nodes in order, as no signal does on Windows. However the demo
  // ends, its nodes end too.
  process.stdin.on("end", () => void http.close().finally(() => process.exit(0))).resume();
  console.log(http.url);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
