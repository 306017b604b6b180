import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { expect, it } from "vitest";
import { text } from "../peer.ts";

interface Config {
  readonly inputSchema?: { readonly "~standard": { readonly jsonSchema: { input(): unknown } } };
}

/** A server, and the JSON Schemas that its tools are registered with. */
function noting(): { mcp: McpServer; schemas: unknown[] } {
  const mcp = new McpServer({ name: "jobs", version: "1.0.0" });
  const schemas: unknown[] = [];
  const register = mcp.registerTool.bind(mcp) as (...all: unknown[]) => unknown;
  const registerTool = (name: string, config: Config, handler: unknown): unknown => {
    const schema = config.inputSchema?.["~standard"].jsonSchema.input();
    if (schema !== undefined) schemas.push(schema);
    return register(name, config, handler);
  };
  return { mcp: Object.assign(mcp, { registerTool }), schemas };
}

it.each(["legacy", "modern"] as const)(
  "companions have one schema for all %s servers, since the SDK keeps what it makes of each",
  async (era) => {
    const tasks = createTasks({ store: memoryStore(), plain: "ticket" });
    tasks.tool("job", {}, () => text("done"));
    const made: unknown[][] = [];
    const server = tasks.server(() => {
      const { mcp, schemas } = noting();
      made.push(schemas);
      return mcp;
    });
    for (let count = 0; count < 2; count++) await server.create({ era }, { principal: "ann" });
    const [first = [], second = []] = made;
    expect(first).toHaveLength(4);
    for (const [index, schema] of first.entries()) expect(second[index]).toBe(schema);
  },
);
