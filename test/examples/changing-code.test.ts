import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type Tasks } from "holdfast";
import { connect, type TaskReference } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it } from "vitest";
import { addPublish } from "../../examples/guides/changing-code.ts";
import { newFolder, runExample } from "../docs/example-process.ts";

/** The tool as it was in version 1, as far as its question; it asks nobody before `asked`. */
function addFirstPublish(tasks: Tasks, asked: () => void): void {
  tasks.tool("publish", { requires: ["elicitation"] }, async ({ month }, task) => {
    const rows = await task.step("rows", () => [`${String(month)}-01 42`, `${String(month)}-31 17`]);
    const requestedSchema = { type: "object" as const, properties: {} };
    const answer = task.elicit("approve", { message: `Publish ${rows.length} rows?`, requestedSchema });
    asked();
    return { content: [{ type: "text", text: (await answer).action }] };
  });
}

async function serve(database: string, add: (tasks: Tasks) => void) {
  const tasks = createTasks({ store: sqliteStore(database), pollIntervalMs: 20 });
  add(tasks);
  return serveHttp(
    tasks.server(() => new McpServer({ name: "publisher", version: "1.0.0" })),
    { port: 0 },
  );
}

const accepts = { onInput: async () => ({ action: "accept" as const }), pollFloorMs: 20 };
const never = { ...accepts, onInput: () => new Promise<never>(() => undefined) };

it("goes on with tasks of earlier versions as the guide says", { timeout: 30_000 }, async () => {
  const database = join(await newFolder(), "tasks.db");
  const asked = Promise.withResolvers<void>();
  const before = await serve(database, (tasks) => addFirstPublish(tasks, asked.resolve));
  const first = await connect(before.url, { ...never, serverName: "publisher" });
  const { reference } = await first.startTool("publish", { month: "2026-10" });
  const kept: TaskReference = JSON.parse(JSON.stringify(reference)) as TaskReference;
  await asked.promise;
  await first.close();
  await before.close();

  const after = await serve(database, addPublish);
  const second = await connect(after.url, { ...accepts, serverName: "publisher" });
  const moved = await second.resume(kept);
  expect((await moved.result()).content).toEqual([{ type: "text", text: "published 2 rows of 2026-10" }]);
  const fresh = await second.callTool("publish", { from: "2026-10-05", to: "2026-10-11" });
  expect(fresh.content).toEqual([{ type: "text", text: "published 3 rows" }]);
  await second.close();
  await after.close();
});

it("checks the recordings of the guide", async () => {
  const said = await runExample("guides/check-recordings.ts", [], await newFolder());
  expect(said).toBe("publish-1.json: goes on, and returned\npublish-2.json: goes on, and waits\n");
});
