import { readFile } from "node:fs/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/client.ts";
import { approval, sent } from "./answers.ts";
import { discovered, ScriptedServer } from "./scripted-server.ts";
import { setUp } from "./setup.ts";

const hasElicitation = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };

async function startServer(): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  return server;
}

describe("connecting", () => {
  it("fails clearly when nothing listens", async () => {
    const server = await startServer();
    await server.stop();
    const message: unknown = expect.stringMatching(
      /^Could not connect to http:\S+: fetch failed \(connect ECONNREFUSED /,
    );
    await expect(connect(server.url)).rejects.toMatchObject({ code: "connection", message });
  });

  it.each([
    ["reports", '"reports"'],
    ["localhost:3000/mcp", '"localhost:3000/mcp"'],
    ["127.0.0.1:3000", '"127.0.0.1:3000"'],
    ["ftp://127.0.0.1/mcp", '"ftp://127.0.0.1/mcp"'],
    ["me:secret@127.0.0.1/mcp", '"127.0.0.1/mcp"'],
    [undefined, "undefined"],
  ])("says what it takes in place of %s", async (target, told) => {
    const form =
      'connect takes a URL, such as "http://127.0.0.1:3000/mcp", a process to start, or a transport of the SDK';
    await expect(connect(target as string)).rejects.toThrow(`${form}, not ${told}.`);
  });

  it.each([
    [503, "connection"],
    [401, "unauthorized"],
    [404, "protocol"],
  ])("fails clearly on HTTP %i", async (status, code) => {
    const server = await startServer();
    server.script("server/discover", { status });
    await expect(connect(server.url)).rejects.toMatchObject({ code });
  });

  it("says what an HTTP error says", async () => {
    const server = await startServer();
    const error = { code: -32600, message: "Nothing is served here; MCP is at /mcp." };
    server.script("server/discover", { status: 503, error });
    await expect(connect(server.url)).rejects.toThrow(
      `${server.url}: the server answered HTTP 503: ${error.message}`,
    );
  });

  it("fails clearly on a server of another protocol version", async () => {
    const server = await startServer();
    const data = { supported: ["2025-11-25"], requested: "2026-07-28" };
    server.script(
      "server/discover",
      { error: { code: -32022, message: "no", data }, status: 400 },
      { result: { ...discovered, supportedVersions: ["2027-01-01"] } },
    );
    await expect(connect(server.url)).rejects.toMatchObject({ code: "protocol" });
    await expect(connect(server.url)).rejects.toMatchObject({ code: "protocol" });
  });

  it("can be given up", async () => {
    const server = await startServer();
    server.script("server/discover", "silence");
    const controller = new AbortController();
    const connecting = connect(server.url, { signal: controller.signal });
    await server.sees("server/discover", 1);
    controller.abort(new Error("no patience"));
    await expect(connecting).rejects.toThrow("no patience");
    await expect(connect(server.url, { signal: controller.signal })).rejects.toThrow("no patience");
  });

  it("does without the extension where the server has none", async () => {
    const { server, client } = await setUp({}, { ...discovered, capabilities: { tools: {} } });
    server.script("tools/call", { result: sent });
    expect(await client.callTool("publish_report")).toEqual(sent);
  });

  it("declares elicitation if there is somebody to ask, and nothing else unasked", async () => {
    const { server } = await setUp({ onInput: async () => ({ action: "decline" }) });
    expect(server.seen[0]?.params["_meta"]).toMatchObject(hasElicitation);
    const silent = await setUp();
    expect(silent.server.seen[0]?.params["_meta"]).not.toMatchObject(hasElicitation);
    const own = await setUp({ capabilities: { roots: {} } });
    expect(own.server.seen[0]?.params["_meta"]).toMatchObject({
      "io.modelcontextprotocol/clientCapabilities": {
        roots: {},
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
    });
  });

  it("sends headers and token, through the given fetch", async () => {
    let tokens = 0;
    let fetched = 0;
    const { server, client } = await setUp({
      headers: { "x-desk": "7" },
      token: async () => `token-${++tokens}`,
      fetch: async (url, init) => {
        fetched++;
        return fetch(url, init);
      },
    });
    server.script("tools/call", { result: sent });
    await client.callTool("publish_report");
    expect(server.seen.map(({ headers }) => [headers["x-desk"], headers.authorization])).toEqual([
      ["7", "Bearer token-1"],
      ["7", "Bearer token-2"],
    ]);
    expect(fetched).toBe(2);
  });

  it("refuses a URL with a password, which references would hold", async () => {
    const connecting = connect("http://ann:s3cret@127.0.0.1:1/mcp");
    await expect(connecting).rejects.toThrow(/^(?!.*s3cret).*contains a user name or password/);
  });

  it("reports a token that cannot be had, and one that is refused", async () => {
    let broken = false;
    const { server, client } = await setUp({
      token: () => {
        if (broken) throw new Error("vault closed");
        return "token";
      },
    });
    server.script("tools/call", { status: 401 });
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "unauthorized" });
    broken = true;
    await expect(client.callTool("publish_report")).rejects.toMatchObject({
      code: "unauthorized",
      cause: new Error("vault closed"),
    });
    await expect(
      connect(server.url, {
        token: () => {
          throw new Error("vault closed");
        },
      }),
    ).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("sends a request again whose token was replaced while it was under way", async () => {
    let current = "old";
    const { server, client } = await setUp({
      token: () => current,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (response.status === 401) current = "new";
        return response;
      },
    });
    server.script("tools/call", { status: 401 }, { result: sent }, { status: 401 });
    expect(await client.callTool("publish_report")).toMatchObject(sent);
    await expect(client.callTool("publish_report")).rejects.toMatchObject({ code: "unauthorized" });
    const tokens = server.seen.map(({ headers }) => headers.authorization?.replace("Bearer ", ""));
    expect(tokens.slice(-3)).toEqual(["old", "new", "new"]);
  });

  it("gives the SDK's client the same callback [X-067]", async () => {
    const keys: string[] = [];
    const { server, client } = await setUp({
      onInput: async ({ key }) => {
        keys.push(key);
        return { action: "accept", content: { ok: true } };
      },
    });
    server.script("tools/list", {
      result: { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" },
    });
    server.script(
      "tools/call",
      { result: { resultType: "input_required", inputRequests: { confirm: approval } } },
      { result: { resultType: "complete", ...sent } },
    );
    expect(await client.sdk.callTool({ name: "publish_report", arguments: {} })).toMatchObject(sent);
    expect(keys).toEqual(["confirm"]);
  });
});

it("names itself by the package's version", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const { server } = await setUp();
  expect(server.seen[0]?.params["_meta"]).toMatchObject({
    "io.modelcontextprotocol/clientInfo": { name: "holdfast", version },
  });
});
