import type { Tasks } from "holdfast";
import * as z from "zod";

// Put your own code here.
const query = async (month: string) => [`${month}-01 42`, `${month}-02 17`];
const upload = async (rows: string[], key: string) => `https://example.com/${key}?rows=${rows.length}`;

/** After a crash the handler runs again from the top, but finished steps do not run again, and answered questions are not asked again. */
export function addReport(tasks: Tasks): void {
  const inputSchema = z.object({ month: z.string().describe("Such as 2026-10") });
  const config = { description: "Makes a report", inputSchema, requires: ["elicitation"] as const };
  tasks.tool("report", config, async ({ month }, task) => {
    const rows = await task.step("query", () => query(month));
    const { action } = await task.elicit("approve", {
      message: `Upload ${rows.length} rows?`,
      requestedSchema: { type: "object", properties: {} },
    });
    if (action !== "accept") return { content: [{ type: "text", text: "not uploaded" }] };
    // A step that a crash interrupted runs again with the same key, so that the service can recognise the repeat.
    const url = await task.step("upload", ({ idempotencyKey }) => upload(rows, idempotencyKey));
    return { content: [{ type: "text", text: url }] };
  });
}
