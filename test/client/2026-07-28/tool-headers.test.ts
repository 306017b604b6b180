import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { connect } from "../../../src/client/connect.ts";
import type { TaskClient } from "../../../src/client/task-client.ts";
import { folder } from "../../cli/run-cli.ts";
import { runMain } from "../../cli/run-main.ts";
import { EverythingServer } from "../../conformance/everything-server.ts";
import { created, sent } from "../answers.ts";
import { setUp } from "../setup.ts";

const looked = { content: [{ type: "text", text: "Looked in größer." }] };
const call = ["test_header_argument", { region: "größer" }] as const;

let server: EverythingServer;
beforeAll(() => {
  server = new EverythingServer();
});
afterAll(async () => void (await server.stop("SIGKILL")));

/** A client, and the methods that it has sent, each with its header of the region. */
async function connected(): Promise<{
  client: TaskClient;
  seen: readonly (readonly [string, string | null])[];
}> {
  const seen: (readonly [string, string | null])[] = [];
  const client = await connect(await server.url, {
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers);
      seen.push([headers.get("mcp-method") ?? "", headers.get("mcp-param-region")]);
      return fetch(url, init);
    },
  });
  onTestFinished(async () => client.close());
  seen.length = 0;
  return { client, seen };
}

const encoded = "=?base64?Z3LDtsOfZXI=?=";

it("repeats an argument in a header once the server has refused the call without, and from then on [B-P-008]", async () => {
  const { client, seen } = await connected();
  expect(await client.callTool(...call)).toMatchObject(looked);
  expect(await (await client.startTool(...call)).result()).toMatchObject(looked);
  expect(seen).toEqual([
    ["tools/call", null],
    ["tools/list", null],
    ["tools/call", encoded],
    ["tools/call", encoded],
  ]);
});

it("repeats it at once where the tools were listed", async () => {
  const { client, seen } = await connected();
  await client.sdk.listTools();
  expect(await client.callTool(...call)).toMatchObject(looked);
  expect(seen).toEqual([
    ["tools/list", null],
    ["tools/call", encoded],
  ]);
});

it("repeats it from the command line", async () => {
  const run = await runMain(["call", await server.url, "test_header_argument", "region=größer"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(run).toMatchObject({ code: 0, stdout: "Looked in größer.\n" });
});

it("repeats it in a call that becomes a task", async () => {
  const { server: scripted, client } = await setUp();
  const inputSchema = {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
  };
  const tools = [{ name: "publish_report", inputSchema }];
  const mismatch = { error: { code: -32020, message: "Mcp-Param-Region is missing" }, status: 400 };
  scripted.script("tools/list", {
    result: { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" },
  });
  scripted.script("tools/call", mismatch, created());
  expect((await client.startTool("publish_report", { region: "eu" })).taskId).not.toBeNull();
  const headers = scripted.of("tools/call").map(({ headers: own }) => own["mcp-param-region"]);
  expect(headers).toEqual([undefined, "eu"]);
});

it("is told the server's refusal where a list tells of no other headers", async () => {
  const { server: scripted, client } = await setUp();
  const mismatch = { error: { code: -32020, message: "Mcp-Method is another" }, status: 400 };
  scripted.script("tools/call", mismatch, { result: sent });
  await expect(client.callTool("publish_report")).rejects.toMatchObject({
    code: "rpc",
    error: { code: -32020 },
  });
  expect(scripted.of("tools/call")).toHaveLength(1);
});
