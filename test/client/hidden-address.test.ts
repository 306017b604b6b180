import { createTasks } from "holdfast";
import { connect, TaskClientError } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";

it("hides the query's values in references and errors, and still finds the task", async () => {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("publish", { inputSchema: z.object({}) }, async () => ({
    content: [{ type: "text", text: "published" }],
  }));
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1.0.0" }));
  const http = await serveHttp(server, { port: 0, anonymous: "shared" });
  onTestFinished(async () => http.close());
  const at = async (query: string, publicParameters: readonly string[] = []) => {
    const client = await connect(`${http.url}?${query}`, { publicParameters });
    onTestFinished(async () => client.close());
    return client;
  };
  const first = await at("key=s3cret&region=eu", ["region"]);
  const { reference } = await first.startTool("publish");
  expect(reference?.server).toMatch(/\?key=\*\*\*&region=eu#[\da-f]{16}$/);
  const second = await at("key=s3cret&region=eu", ["region"]);
  expect(await (await second.resume(reference)).result()).toMatchObject({ content: [{ text: "published" }] });
  const other = await at("key=other&region=eu", ["region"]);
  await expect(other.resume(reference)).rejects.toMatchObject({ code: "reference" });
  const before = { server: `${http.url}?key=s3cret`, generation: "2026-07-28", taskId: "1" };
  const foreign: unknown = await other.resume(before).catch((error: unknown) => error);
  expect(String(foreign)).toContain("The task belongs to");
  expect(String(foreign)).not.toContain("s3cret");
  await expect(connect("example.com/mcp?key=s3cret")).rejects.toThrow('not "example.com/mcp?***"');
  const refused: unknown = await connect("http://127.0.0.1:9/mcp?key=s3cret").catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(TaskClientError);
  expect(String(refused)).toContain("http://127.0.0.1:9/mcp?key=***");
  expect(String(refused)).not.toContain("s3cret");
});
