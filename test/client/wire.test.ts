import { describe, expect, it } from "vitest";
import { acknowledged, approval, asking, completed, created, sent, taskId } from "./answers.ts";
import { setUp } from "./setup.ts";

const clientInfo = { name: "desk", version: "2.0.0" };
const capabilities = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": capabilities,
  "io.modelcontextprotocol/clientInfo": clientInfo,
};
const onInput = async (): Promise<{ action: "cancel" }> => ({ action: "cancel" });

describe("what goes over the wire", () => {
  it("declares the extension in every request [X-001 X-002 X-B-001 X-041 X-073 B-P-001 C-P-004]", async () => {
    const { server, client } = await setUp({ clientInfo, onInput });
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    server.script("tasks/cancel", acknowledged);
    server.script("tools/list", {
      result: { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" },
    });

    const handle = await client.startTool(
      "render_report",
      { reportId: "q3" },
      { idempotencyKey: "k".repeat(22) },
    );
    await handle.result();
    await handle.cancel();
    await client.sdk.listTools();

    expect(server.seen.map((request) => request.method)).toEqual([
      "server/discover",
      "tools/call",
      "tasks/get",
      "tasks/cancel",
      "tools/list",
    ]);
    for (const { params } of server.seen) expect(params["_meta"]).toMatchObject(meta);
    expect(server.of("tools/call")[0]?.params).toEqual({
      name: "render_report",
      arguments: { reportId: "q3" },
      _meta: { ...meta, "holdfast/idempotencyKey": "k".repeat(22) },
    });
    expect(server.of("tasks/get")[0]?.params).toEqual({ taskId, _meta: meta });
    expect(server.of("tasks/cancel")[0]?.params).toEqual({ taskId, _meta: meta });
  });

  it("never asks for a task [X-005]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: sent });
    await client.callTool("render_report");
    expect(server.of("tools/call")[0]?.params).not.toHaveProperty("task");
  });

  it("names method and task in the headers [X-090 X-091 X-B-018]", async () => {
    const { server, client } = await setUp({ onInput });
    server.script("tools/call", created());
    server.script("tasks/get", asking({ approve: approval }), completed());
    server.script("tasks/update", acknowledged);
    server.script("tasks/cancel", acknowledged);
    const handle = await client.startTool("render_report");
    await handle.result();
    await handle.cancel();

    const names = server.seen
      .slice(1)
      .map(({ headers }) => [headers["mcp-protocol-version"], headers["mcp-method"], headers["mcp-name"]]);
    expect(names).toEqual([
      ["2026-07-28", "tools/call", "render_report"],
      ["2026-07-28", "tasks/get", taskId],
      ["2026-07-28", "tasks/get", taskId],
      ["2026-07-28", "tasks/update", taskId],
      ["2026-07-28", "tasks/cancel", taskId],
    ]);
    expect(server.seen.some(({ headers }) => "holdfast-request-id" in headers)).toBe(false);
  });

  it("encodes a task id that is not plain ASCII [X-B-020]", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", created({ taskId: "tâche-1" }));
    server.script("tasks/get", completed(sent, { taskId: "tâche-1" }));
    await client.callTool("render_report");
    const encoded = Buffer.from("tâche-1").toString("base64");
    expect(server.of("tasks/get")[0]?.headers["mcp-name"]).toBe(`=?base64?${encoded}?=`);
  });

  it("uses string ids of its own, each once", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: sent }, { result: sent });
    await client.callTool("render_report");
    await client.callTool("render_report");
    const ids = server.of("tools/call").map(({ id }) => id);
    expect(ids.every((id) => typeof id === "string")).toBe(true);
    expect(new Set(ids).size).toBe(2);
  });

  it("gives each call its own key of at least 128 bits, unless the caller names one", async () => {
    const { server, client } = await setUp();
    server.script("tools/call", { result: sent }, { result: sent });
    await client.callTool("render_report");
    await client.callTool("render_report");
    const keys = server.of("tools/call").map(({ params }) => {
      const own: unknown = params["_meta"];
      return (own as Record<string, unknown>)["holdfast/idempotencyKey"];
    });
    expect(new Set(keys).size).toBe(2);
    for (const key of keys) expect(key).toMatch(/^[\w-]{22,}$/);
  });

  it("does not offer tasks in a call through the SDK's client, which could not take one", async () => {
    const { server, client } = await setUp({ onInput });
    server.script("tools/list", {
      result: { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" },
    });
    server.script("tools/call", { result: { resultType: "complete", ...sent } });
    expect(await client.sdk.callTool({ name: "render_report", arguments: {} })).toMatchObject(sent);
    expect(server.of("tools/call")[0]?.params["_meta"]).toMatchObject({
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} }, extensions: {} },
    });
    expect(JSON.stringify(server.of("tools/call")[0]?.params)).not.toContain("io.modelcontextprotocol/tasks");
  });
});
