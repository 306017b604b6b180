import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { newFolder, serveExample } from "../../docs/example-process.ts";
import { text } from "../../kit/messages.ts";
import { oldClient } from "../../server/transport/sse-host.ts";

it("serves old clients beside the endpoint, keeps their tasks over a restart, and stops in order [B-040 B-116]", async () => {
  const folder = await newFolder();
  const server = await serveExample("hosting/legacy-sse.ts", folder);
  const sse = server.url.replace(/mcp$/, "sse");
  const client = await oldClient(sse, {
    token: "token-of-ann",
    capabilities: { elicitation: { form: {} } },
  });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
  const call = { name: "publish", arguments: { month: "2026-10" } };
  expect(await client.callTool(call)).toMatchObject(text("published"));
  const reports: unknown[] = [];
  const count = { name: "count", arguments: { to: 2 } };
  const onprogress = (report: unknown): void => void reports.push(report);
  expect(await client.callTool(count, undefined, { onprogress })).toMatchObject(text("counted to 2"));
  expect(reports).toHaveLength(2);
  await expect(oldClient(sse)).rejects.toThrow("401");

  const token = "token-of-ann";
  const first = await connect(sse, { token });
  const { reference } = await first.startTool("render", { month: "2026-10" });
  if (reference === null) throw new Error("There is no task.");
  expect(await server.stop()).toEqual([0, null]);
  await first.close();
  const later = await serveExample("hosting/legacy-sse.ts", folder);
  const again = await connect(later.url, {
    token,
    serverName: reference.server,
    protocolVersion: "2025-11-25",
  });
  onTestFinished(() => again.close());
  expect(await (await again.resume(reference)).result()).toMatchObject(text("2 rows"));
});
