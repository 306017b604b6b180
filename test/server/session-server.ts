import type { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { text } from "../kit/messages.ts";

/** What an author's own server has: everything that is not a task. */
export function authorsOwn(mcp: McpServer): void {
  mcp.server.registerCapabilities({ logging: {} });
  mcp.registerTool("echo", { inputSchema: z.object({ say: z.string() }) }, ({ say }) => text(say));
  mcp.registerTool("ask_user", {}, async ({ mcpReq }) => {
    const answer = await mcpReq.elicitInput({
      message: "Name?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    });
    return text(`user: ${answer.action} ${JSON.stringify(answer.content)}`);
  });
  mcp.registerTool("ask_model", {}, async ({ mcpReq }) => {
    const content = { type: "text", text: "Capital of France?" } as const;
    const answer = await mcpReq.requestSampling({ messages: [{ role: "user", content }], maxTokens: 10 });
    return text(`model: ${JSON.stringify(answer.content)}`);
  });
  mcp.registerTool("roots", {}, async () => {
    const { roots } = await mcp.server.listRoots();
    return text(`roots: ${roots.map(({ uri }) => uri).join()}`);
  });
  mcp.registerTool("progress", {}, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? "none";
    const params = { progressToken, progress: 1, total: 2 };
    await mcpReq.notify({ method: "notifications/progress", params });
    await mcpReq.log("info", "half way");
    return text("progressed");
  });
  mcp.registerTool("announce", {}, () => {
    mcp.sendToolListChanged();
    return text("announced");
  });
  mcp.registerResource("note", "test://note", {}, ({ href }) => ({
    contents: [{ uri: href, text: "a note" }],
  }));
  mcp.registerPrompt("greeting", {}, () => ({
    messages: [{ role: "user", content: { type: "text", text: "Say hello." } }],
  }));
}
