import type { CallToolResult } from "@modelcontextprotocol/server";
import type { TaskContext, Tasks } from "holdfast";
import * as z from "zod";

/** Registers the tool, for the server and for the check of its recordings. */
export function addPublish(tasks: Tasks): void {
  tasks.tool(
    "publish",
    {
      description: "Publishes the figures of some days after approval",
      inputSchema: z.object({ from: z.string(), to: z.string() }),
      requires: ["elicitation"],
      version: 3,
      // Version 1 took a month. Its handler stays for as long as one of its tasks may wait for an answer.
      olderVersions: { 1: { inputSchema: z.object({ month: z.string() }), handler: publishMonth } },
    },
    async ({ from, to }, task) => {
      // Since version 3 the figures come from the warehouse. Tasks of version 2 use those of the database.
      const rows = (await task.version("warehouse", 3))
        ? await task.step("rows of the warehouse", () => queryWarehouse(from, to))
        : await task.step("rows", () => queryDatabase(from, to));
      if (!(await isApproved(rows, task))) return said("not published");
      await task.step("send", ({ idempotencyKey }) => send(rows, idempotencyKey));
      // Also new in version 3. It comes last, and tasks of version 2 may run it too: no version check is needed.
      await task.step("archive", () => archive(rows));
      return said(`published ${rows.length} rows`);
    },
  );
}

async function publishMonth({ month }: { month: string }, task: TaskContext): Promise<CallToolResult> {
  const rows = await task.step("rows", () => queryDatabase(`${month}-01`, `${month}-31`));
  if (!(await isApproved(rows, task))) return said("not published");
  await task.step("send", ({ idempotencyKey }) => send(rows, idempotencyKey));
  return said(`published ${rows.length} rows of ${month}`);
}

async function isApproved(rows: readonly string[], task: TaskContext): Promise<boolean> {
  const { action } = await task.elicit("approve", {
    message: `Publish ${rows.length} rows?`,
    requestedSchema: { type: "object", properties: {} },
  });
  return action === "accept";
}

function said(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

// Put your own code here.
const queryDatabase = async (from: string, to: string) => [`${from} 42`, `${to} 17`];
const queryWarehouse = async (from: string, to: string) => [`${from} 42`, `${from} 3`, `${to} 17`];
const send = async (rows: readonly string[], key: string) => `${rows.length} rows under ${key}`;
const archive = async (rows: readonly string[]) => rows.length;
