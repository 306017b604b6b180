import { setTimeout as pause } from "node:timers/promises";
import { McpServer, OAuthError, OAuthErrorCode } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import type { TokenVerifier } from "holdfast/auth";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

// Put your own tools here: two that become tasks, and one on an ordinary McpServer.
export const tasks = createTasks({ store: sqliteStore(process.env["DATABASE"] ?? "tasks.db") });

tasks.tool("render", { inputSchema: z.object({ month: z.string() }) }, async ({ month }, task) => {
  const rows = await task.step("query", () => [`${month}-01 42`, `${month}-02 17`]);
  return { content: [{ type: "text", text: `${rows.length} rows` }] };
});

tasks.tool(
  "publish",
  { inputSchema: z.object({ month: z.string() }), requires: ["elicitation"] },
  async ({ month }, task) => {
    const { action } = await task.elicit("approve", {
      message: `Publish ${month}?`,
      requestedSchema: { type: "object", properties: {} },
    });
    return { content: [{ type: "text", text: action === "accept" ? "published" : "not published" }] };
  },
);

export const server = tasks.server(() => {
  const mcp = new McpServer({ name: "reports", version: "1.0.0" });
  mcp.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    for (let progress = 1; progress <= to; progress++) {
      if (progressToken !== undefined) {
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: to },
        });
      }
      await pause(100);
    }
    return { content: [{ type: "text", text: `counted to ${to}` }] };
  });
  return mcp;
});

const users: Readonly<Record<string, string>> = { "token-of-ann": "ann", "token-of-bob": "bob" };

// Put your own check here, such as jwtVerifier of holdfast/auth. Tasks belong to the subject.
export const verifier: TokenVerifier = {
  async verifyAccessToken(token) {
    const subject = users[token];
    if (subject === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, "The token is not known");
    const expiresAt = Math.floor(Date.now() / 1_000) + 60;
    return {
      token,
      clientId: "example",
      scopes: [],
      expiresAt,
      issuer: "https://login.example.com",
      subject,
    };
  },
};
