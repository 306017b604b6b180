import { expect, it, onTestFinished } from "vitest";
import { discovered, ScriptedServer, type Answer } from "../client/scripted-server.ts";
import { folder, holdfast } from "./run-cli.ts";

const slow = { timeout: 60_000 };

async function scripted(discovery: Answer, tools?: Answer): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  server.script("server/discover", discovery);
  if (tools !== undefined) server.script("tools/list", tools);
  return server;
}

it("prints nothing but JSON on stdout, also of a server without tools", slow, async () => {
  const { url } = await scripted({ result: { ...discovered, capabilities: {} } });
  const env = { HOLDFAST_STATE: await folder() };
  const { code, stdout, stderr } = await holdfast(["tools", url, "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject({ tools: [] });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

it("says which tools are left out on stderr, without what a terminal would obey", slow, async () => {
  const inputSchema = { type: "object", properties: { a: { type: "object", "x-mcp-header": "a b" } } };
  const tools = [
    { name: "evil\u001b[2J\u009b2J\u0007", inputSchema },
    { name: "good", inputSchema: { type: "object" } },
  ];
  const result = { resultType: "complete", ttlMs: 0, cacheScope: "public", tools };
  const { url } = await scripted({ result: discovered }, { result });
  const env = { HOLDFAST_STATE: await folder() };
  const { code, stdout, stderr } = await holdfast(["tools", url], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "good\n" });
  expect(stderr).toMatch(/tool "evil.*": its x-mcp-header is invalid/);
  expect(stderr).not.toMatch(/(?!\n)\p{Cc}/u);
});
