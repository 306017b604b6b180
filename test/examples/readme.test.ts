import { McpServer } from "@modelcontextprotocol/server";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { addReport } from "../../examples/readme/start-job.ts";
import { newFolder, runExample, serveExample } from "../docs/example-process.ts";

it("shows a server and a client that do what the README says", async () => {
  const folder = await newFolder();
  const server = await serveExample("readme/server.ts", folder);
  const output = await runExample("readme/client.ts", [server.url], folder);
  expect(output.match(/https:\/\/example\.com\/\S+:upload\?rows=2/g)).toHaveLength(2);
  // A client without tasks gets the same from the same server.
  expect(await runExample("guides/plain-client.ts", [server.url], folder)).toMatch(/:upload\?rows=2/);
  await server.stop();
});

it("shows a pair of tools that authors write today, with what is wrong with it", async () => {
  const server = new McpServer({ name: "reports", version: "1.0.0" });
  let renderings = 0;
  addReport(server, async (month) => {
    renderings += 1;
    return `https://example.com/${month}`;
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(ours);
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(theirs);
  const call = async (name: string, args: Record<string, string>): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: args });
    return JSON.stringify(content);
  };
  const started = await call("start_report", { month: "2026-10" });
  const [id = ""] = /[\da-f]{8}-[\da-f-]+/.exec(started) ?? [];
  expect(await call("get_report", { id })).toContain("https://example.com/2026-10");
  await call("start_report", { month: "2026-10" });
  expect(renderings).toBe(2);
  expect(await call("get_report", { id: "of-a-server-before" })).toContain("No report");
  await client.close();
});
