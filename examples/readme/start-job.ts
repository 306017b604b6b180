import { randomUUID } from "node:crypto";
import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

type Job = { state: "running" } | { state: "done"; url: string } | { state: "failed"; reason: string };

const jobs = new Map<string, Job>();

export function addReport(server: McpServer, render: (month: string) => Promise<string>): void {
  const start = { description: "Starts a report", inputSchema: z.object({ month: z.string() }) };
  server.registerTool("start_report", start, async ({ month }) => {
    const id = randomUUID();
    jobs.set(id, { state: "running" });
    render(month).then(
      (url) => jobs.set(id, { state: "done", url }),
      (error: unknown) => jobs.set(id, { state: "failed", reason: String(error) }),
    );
    return { content: [{ type: "text", text: `Started. Call get_report with id ${id} later.` }] };
  });

  const get = { description: "Gets a report", inputSchema: z.object({ id: z.string() }) };
  server.registerTool("get_report", get, async ({ id }) => {
    const job = jobs.get(id);
    if (job === undefined) return { isError: true, content: [{ type: "text", text: `No report ${id}` }] };
    const text = job.state === "done" ? job.url : job.state === "failed" ? job.reason : "Not ready yet";
    return { isError: job.state === "failed", content: [{ type: "text", text }] };
  });
}
