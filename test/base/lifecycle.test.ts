import { completable, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { setUpCore } from "../client/2025-11-25/core-peer.ts";
import { EventStream, SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { expectReport, revisions, serveBeside, text } from "./beside-tasks.ts";

function bare(): McpServer {
  const mcp = new McpServer({ name: "bare", version: "2.1.0" }, { instructions: "Ask for reports." });
  mcp.registerTool("echo", { inputSchema: { say: z.string() } }, async ({ say }) => text(say));
  return mcp;
}

it.each(revisions)(
  "says its name, version and instructions, whoever asks, on %s [B-001 X-B-005]",
  async (revision) => {
    const client = await (await serveBeside(bare)).connect(revision);
    expect(client.sdk.getServerVersion()).toMatchObject({ name: "bare", version: "2.1.0" });
    expect(client.sdk.getInstructions()).toBe("Ask for reports.");
    await expectReport(client);
  },
);

it("keeps fifty requests of one id apart, with and without tasks in them [B-003]", async () => {
  const { http } = await serveBeside(bare, { sessions: false });
  const earlier = new SessionClient(http.url);
  const newest = new StatelessClient(http.url);
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const [name, args] = n % 4 < 2 ? ["echo", { say: `${n}` }] : ["report", { month: `${n}` }];
      if (n % 2 === 0) {
        const capabilities = {};
        return (await newest.call(name, args, { id: 7, capabilities })).result;
      }
      const response = await earlier.post({ id: 7, method: "tools/call", params: { name, arguments: args } });
      return response.headers.get("content-type") === "application/json"
        ? ((await response.json()) as { result: unknown }).result
        : (await new EventStream(response).rest()).at(-1)?.["result"];
    }),
  );
  for (const [n, answer] of answers.entries()) {
    expect(answer).toMatchObject(text(n % 4 < 2 ? `${n}` : `${n}: 42 rows`));
  }
});

it.each(revisions)("declares what is registered, and nothing else, on %s [B-007]", async (revision) => {
  const declared = async (factory: () => McpServer): Promise<Record<string, unknown>> => {
    const client = await (await serveBeside(factory)).connect(revision);
    await expectReport(client);
    return { ...client.sdk.getServerCapabilities() };
  };
  const few = await declared(bare);
  expect(few).toMatchObject({ tools: { listChanged: true } });
  for (const absent of ["prompts", "completions", "logging"]) expect(few).not.toHaveProperty(absent);
  const all = await declared(() => {
    const mcp = new McpServer({ name: "all", version: "1.0.0" }, { capabilities: { logging: {} } });
    const template = new ResourceTemplate("note://{n}", { list: undefined, complete: { n: () => ["1"] } });
    mcp.registerResource("note", template, {}, ({ href: uri }) => ({ contents: [{ uri, text: "" }] }));
    const argsSchema = { tone: completable(z.string(), () => ["kind"]) };
    mcp.registerPrompt("reply", { argsSchema }, () => ({ messages: [] }));
    return mcp;
  });
  expect(all).toMatchObject({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true },
    completions: {},
    logging: {},
  });
});

it("begins with initialize, then says that it is initialized, and then asks [B-043 B-044]", async () => {
  const clientInfo = { name: "desk", version: "3.0.0" };
  const { peer, client } = await setUpCore({ clientInfo, protocolVersion: "2025-11-25" });
  await client.callTool("plain").catch(() => undefined);
  const [first, second] = peer.seen.map(({ method }) => method);
  expect([first, second]).toEqual(["initialize", "notifications/initialized"]);
  expect(peer.params("initialize")).toMatchObject([
    { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  ]);
});

it("answers initialize with its version, capabilities and name, and another version with one of its own [B-043 B-045 B-046]", async () => {
  const { http } = await serveBeside(bare);
  for (const [version, spoken] of [
    ["2025-11-25", "2025-11-25"],
    ["2025-03-26", "2025-03-26"],
    ["1900-01-01", "2025-11-25"],
    ["2999-01-01", "2025-11-25"],
  ] as const) {
    const peer = new SessionClient(http.url, { version });
    const answer = await new EventStream(await peer.initialize()).message();
    expect(answer).toMatchObject({
      result: {
        protocolVersion: spoken,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "bare", version: "2.1.0" },
      },
    });
  }
});

it("disconnects from a server that speaks no version that it knows", async () => {
  const connecting = setUpCore({ protocolVersion: "2025-11-25" }, {}, "1900-01-01");
  await expect(connecting).rejects.toMatchObject({ code: "protocol" });
});
