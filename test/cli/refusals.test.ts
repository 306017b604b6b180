import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { ProtocolError } from "@modelcontextprotocol/server";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { serveSessions } from "../sdk-v1/http.ts";
import { serve as serveTasks } from "../kit/server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

async function serve(answer: RequestListener): Promise<string> {
  const http = createServer(answer).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`;
}

it.each([
  [
    403,
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Invalid Host"}}',
    /403: Invalid Host\n/,
  ],
  [403, "Your plan has no server", /403: Your plan has no server\n/],
  [401, '{"error":"invalid_token","error_description":"The token is over"}', /401: The token is over\n/],
  [404, "<!DOCTYPE html><html><pre>Cannot POST</pre></html>", /404 with a web page\n.*Check the path/],
  [404, "<h1>Not found</h1>", /404 with a web page\n/],
])("tells what a server says with HTTP %i: %s", { timeout: 60_000 }, async (status, body, message) => {
  const url = await serve((_request, response) => response.writeHead(status).end(body));
  const refused = await runMain(["tools", url]);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toMatch(message);
  expect(refused.stderr).not.toContain("<");
});

it("says where a server often is that was given without a path", { timeout: 60_000 }, async () => {
  const url = await serve((_request, response) => response.writeHead(404).end("nothing here"));
  const { host } = new URL(url);
  const address = await runMain(["tools", host]);
  expect(address.stderr).toContain(`using http://${host}/mcp\n`);
  const refused = await runMain(["tools", `http://${host}`]);
  expect(refused.stderr).toContain(`Check the path. Many servers are at http://${host}/mcp.\n`);
});

it.each([[], ["--token", "s3cret"]])(
  "tells what a server says that refuses only the list of its tools %j",
  { timeout: 60_000 },
  async (...options) => {
    const status = options.length > 0 ? 401 : 403;
    const url = await serve((request, response) => {
      void text(request).then((body) => {
        const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
        if (method === "tools/list") return response.writeHead(status).end("Only for staff");
        if (id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
        const serverInfo = { name: "late", version: "1.0.0" };
        const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
        const answer = method === "initialize" ? { result } : { error: { code: -32601, message: "unknown" } };
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
      });
    });
    const refused = await runMain(["tools", url, ...options]);
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect((await runMain(["doctor", url, ...options])).stdout).toMatch(
      /^connection +yes.*\n(.*\n)*tools +no/,
    );
    expect(refused.stderr).toMatch(
      status === 403
        ? /403: Only for staff\nTo connect as someone else, use /
        : /^holdfast: Unauthorized\nLog in with:\n {2}/,
    );
  },
);

it("prints the URLs that a call requires to be visited first", { timeout: 60_000 }, async () => {
  const http = await serveSessions(() => {
    const mcp = new McpServer({ name: "signs", version: "1.0.0" });
    mcp.registerTool("mail", {}, () => {
      const url = "https://auth.example.com/sign-in?state=1";
      throw new UrlElicitationRequiredError([
        { mode: "url", message: "Please sign in.", elicitationId: "e1", url },
      ]);
    });
    return mcp;
  });
  onTestFinished(async () => http.close());
  const refused = await runMain(["call", http.url.href, "mail"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect(refused.stderr).toMatch(
    /Visit, and then call again:\n {2}Please sign in\. https:\/\/auth\.example\.com\/sign-in\?state=1\n$/,
  );
});

it("prints them in 2026-07-28 too, which has no code of its own for that", { timeout: 60_000 }, async () => {
  const { http } = await serveTasks({
    tools: (tasks) =>
      tasks.tool("mail", {}, () => {
        const url = "https://auth.example.com/sign-in?state=1";
        const elicitations = [{ mode: "url", message: "Please sign in.", elicitationId: "e1", url }];
        throw new ProtocolError(-32042, "Sign in first", { elicitations });
      }),
  });
  const refused = await runMain(["call", http.url, "mail"], { env: { HOLDFAST_STATE: await folder() } });
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect(refused.stderr).toMatch(/\n {2}Please sign in\. https:\/\/auth\.example\.com\/sign-in\?state=1\n$/);
});

it(
  "prints the data of an error, of a call and of a task, without what is for clients",
  { timeout: 60_000 },
  async () => {
    const { http } = await serveTasks({
      tools: (tasks) => {
        tasks.tool("order", {}, async (_, task) => {
          await task.step("note", () => 1);
          throw new ProtocolError(-32001, "No quota", { resetAt: "noon", retryAfterMs: 5, "holdfast/x": 1 });
        });
        tasks.tool("said", { task: "forbidden" }, () => {
          throw new ProtocolError(-32001, "No quota", "until\nnoon");
        });
      },
    });
    const env = { HOLDFAST_STATE: await folder() };
    const failed = await runMain(["call", http.url, "order"], { env });
    expect(failed).toMatchObject({ code: 3, stdout: "" });
    expect(failed.stderr).toMatch(/No quota \(-32001\)\n\{"resetAt":"noon"\}\n$/);
    expect((await runMain(["call", http.url, "said"], { env })).stderr).toMatch(
      /No quota \(-32001\)\nuntil\nnoon\n$/,
    );
  },
);

it(
  "prints why a server refuses to be used, which is an MCP server all the same",
  { timeout: 60_000 },
  async () => {
    const answer = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
      const { id, method } = JSON.parse(await text(request)) as { id: number; method: string };
      const error =
        method === "initialize"
          ? { code: -32602, message: "Only for customers", data: { plan: "free" } }
          : { code: -32601, message: "Method not found" };
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    };
    const url = await serve((...exchange) => void answer(...exchange));
    const refused = await runMain(["tools", url]);
    expect(refused).toMatchObject({ code: 6, stdout: "" });
    expect(refused.stderr).toContain(`Could not connect to ${url}: Only for customers\n{"plan":"free"}\n`);
    expect(refused.stderr).not.toContain("not an MCP server");
    await expect(connect(url)).rejects.toMatchObject({
      code: "protocol",
      error: { code: -32602, message: "Only for customers", data: { plan: "free" } },
    });
  },
);
