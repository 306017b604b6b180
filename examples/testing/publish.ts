import type { Tasks } from "holdfast";
import * as z from "zod";

/** The tool's external services, which a test can replace. */
export interface Mail {
  send(rows: string[], key: string): Promise<void>;
}

const hour = 3_600_000;

export function addPublish(tasks: Tasks, mail: Mail): void {
  const inputSchema = z.object({ month: z.string() });
  const config = { description: "Sends a report", inputSchema, requires: ["elicitation"] as const };
  tasks.tool("publish", config, async ({ month }, task) => {
    const rows = await task.step("query", async () => [`${month}-01 42`, `${month}-02 17`]);
    const { action } = await task.elicit("approve", {
      message: `Send ${rows.length} rows?`,
      requestedSchema: { type: "object", properties: {} },
    });
    if (action !== "accept") return { content: [{ type: "text", text: "not sent" }] };
    await task.sleep("cool off", 48 * hour);
    await task.step("send", ({ idempotencyKey }) => mail.send(rows, idempotencyKey));
    return { content: [{ type: "text", text: `sent ${rows.length} rows` }] };
  });
}
