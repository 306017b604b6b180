import type { CallToolResult } from "@modelcontextprotocol/server";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import { serveTools, type ServedTools } from "../../src/serve/serve-tools.ts";
import type { SourceTool, ToolSource } from "../../src/serve/source.ts";

const said = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

/** A source with one tool, which asks before it answers with its own text. */
function asking(name: string, text: string): ToolSource {
  const tool: SourceTool = {
    name,
    config: { onCrash: "resume" },
    handler: async (_, task) => {
      const requestedSchema = { type: "object" as const, properties: {} };
      const { action } = await task.elicit("go", { message: "Go?", requestedSchema });
      return said(`${action} ${text}`);
    },
  };
  return {
    name: `source of ${name}`,
    open: async ({ setTools }) => {
      setTools([tool]);
      return { close: async () => undefined };
    },
  };
}

it.each([
  ["removed and comes back", [], "again"],
  ["renamed, and renamed back", [asking("other", "other")], "again"],
  ["changed", [asking("job", "changed")], "changed"],
] as const)("keeps a task that waits while its tool is %s", async (_, meanwhile, end) => {
  let served: ServedTools | undefined;
  await using t = await testTasks(async (tasks) => {
    served = await serveTools(tasks, [asking("job", "first")]);
  });
  const task = await t.start("job");
  await task.question("go");
  await t.clock.advance("10m"); // its handler is not in memory any more
  await served?.replace(meanwhile);
  await task.answer("go", { action: "accept", content: {} });
  await t.clock.advance("5m");
  if (end === "again") await served?.replace([asking("job", "again")]);
  expect(await task.result()).toMatchObject(said(`accept ${end}`));
});
