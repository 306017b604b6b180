import type { McpServer } from "@modelcontextprotocol/server";
import express from "express";
import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { handlerOf, served } from "../http-mount/mount.ts";
import { discover, head, initialize, RawConnection } from "../../kit/raw-connection.ts";
import { text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";

const tools = (tasks: Tasks): void => void tasks.tool("bare", {}, () => text("bare"));
const eras = [
  ["2025-11-25", initialize],
  ["2026-07-28", discover],
] as const;

it.each([
  ["nothing", ""],
  ["half a header", "POST /mcp HTTP/1.1\r\nHost: loc"],
  ["headers without an end", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"],
])("hangs up on who sends %s", async (_, begun) => {
  const { http, errors } = await serve({ tools, http: { headersTimeoutMs: 100 } });
  const raw = await RawConnection.to(http.port, begun);
  await raw.closed;
  expect((await raw.statuses()).filter((status) => status !== 408)).toEqual([]);
  expect(errors).toEqual([]);
});

it.each(eras)("hangs up on who does not end a request of %s, and serves others", async (_, whole) => {
  const { http, errors } = await serve({ tools, http: { requestTimeoutMs: 300 } });
  const slow = await RawConnection.to(http.port, whole().slice(0, -1));
  const quick = await RawConnection.to(http.port, whole());
  expect(await quick.statuses()).toEqual([200]);
  await slow.closed;
  expect(await slow.statuses()).toContain(408);
  expect(errors).toEqual([]);
});

it("hangs up on who keeps a connection for nothing", async () => {
  const { http } = await serve({ tools, http: { keepAliveTimeoutMs: 100 } });
  const raw = await RawConnection.to(http.port, discover());
  await raw.closed;
  expect(await raw.statuses()).toEqual([200]);
});

it("does not receive what nobody will read", async () => {
  const authenticate = async (): Promise<undefined> => undefined;
  const { http } = await serve({ tools, http: { authenticate } });
  const raw = await RawConnection.to(http.port, head("Content-Length: 4000000"));
  // Answered by the headers alone.
  expect(await raw.statuses()).toEqual([401]);
  const foreign = await RawConnection.to(
    http.port,
    head("Content-Length: 4000000", "Origin: https://evil.example"),
  );
  expect(await foreign.statuses()).toEqual([403]);
});

it("gives up the slowest when those that are being received are too large together", async () => {
  const limits = { maxRequestBodySize: 1_000, maxPendingBytes: 2_000 };
  const { http } = await serve({ tools, http: limits });
  const slow: RawConnection[] = [];
  for (let count = 0; count < 3; count++) {
    slow.push(await RawConnection.to(http.port, head("Content-Length: 900", "Expect: 100-continue")));
    await slow.at(-1)?.statuses(); // it is being read
    slow.at(-1)?.send(" ".repeat(899));
  }
  await slow[0]?.closed;
  expect(await slow[0]?.statuses(2)).toEqual([100, 503]);
  for (const other of slow.slice(1)) other.send("1");
  for (const other of slow.slice(1)) expect(await other.statuses(2)).toEqual([100, 400]);
});

const large = (mcp: McpServer): unknown =>
  mcp.registerTool("large", {}, () => text("x".repeat(30 * 1024 * 1024)));

/** The port of a server that has one connection at a time. */
const single: [string, () => Promise<{ port: number; errors: unknown[] }>][] = [
  [
    "of a server of ours",
    async () => {
      const limits = { stallTimeoutMs: 300, maxConnections: 1 };
      const { http, errors } = await serve({ tools, server: large, http: limits });
      return { port: http.port, errors };
    },
  ],
  [
    "where it is mounted",
    async () => {
      const { handler, errors } = handlerOf({ server: large, http: { stallTimeoutMs: 300 } });
      const { port, node } = await served(express().use(handler));
      node.maxConnections = 1;
      return { port, errors };
    },
  ],
];

it.each(single)("hangs up on who does not read an answer %s", async (_, start) => {
  const { port, errors } = await start();
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "large", arguments: {}, _meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const own = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: large"];
  const raw = await RawConnection.to(port);
  raw.socket.pause();
  raw.send(`${head(`Content-Length: ${body.length}`, ...own)}${body}`);
  // The only place is free again when the server has hung up.
  await expect
    .poll(async () => (await RawConnection.to(port, discover())).statuses(), { timeout: 20_000 })
    .toEqual([200]);
  expect(errors).toEqual([]);
});
