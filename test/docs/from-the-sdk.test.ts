import { readFile } from "node:fs/promises";
import type { WebStandardStreamableHTTPServerTransportOptions } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { httpOptions } from "../../src/server/http/http-options.ts";

/** By SDK options, all of them: the type check fails when a version of the SDK adds one. */
const transportOptions: Record<keyof WebStandardStreamableHTTPServerTransportOptions, "here" | "declined"> = {
  sessionIdGenerator: "declined",
  onsessioninitialized: "here",
  onsessionclosed: "here",
  enableJsonResponse: "here",
  eventStore: "declined",
  allowedHosts: "here",
  allowedOrigins: "here",
  enableDnsRebindingProtection: "here",
  retryInterval: "declined",
  keepAliveMs: "declined",
  maxRequestBodySize: "here",
  supportedProtocolVersions: "here",
};

/** What the SDK's page names besides, in its order. */
const named = [
  "registerTool",
  "inputSchema",
  "outputSchema",
  "structuredContent",
  "registerResource",
  "ResourceTemplate",
  "StreamableHTTPServerTransport",
  "connect",
  "handleRequest",
  "close",
  "zod/v3",
  "ResourceLink",
  "title",
  "isInitializeRequest",
  "sessionId",
  "onclose",
  "cors",
  "origin",
  "exposedHeaders",
  "allowedHeaders",
  "StdioServerTransport",
  "globalThis.crypto",
  "registerPrompt",
  "argsSchema",
  "completable",
  "update",
  "debouncedNotificationMethods",
  "Server",
  "elicitInput",
  "createMessage",
  "experimental.tasks",
  "Client",
  "OAuthClientProvider",
  "ProxyOAuthServerProvider",
  "SSEServerTransport",
];

const page = await readFile(new URL("../../docs/recipes/from-the-sdk.md", import.meta.url), "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, sdk = "", here = ""]) => ({ names: wordsIn(sdk), sdk, here }));

function wordsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

it("says where each name of the SDK's page is, or why there is no such thing", () => {
  const known = rows.flatMap(({ names }) => names);
  expect([...named, ...Object.keys(transportOptions)].filter((name) => !known.includes(name))).toEqual([]);
});

it.each(Object.entries(transportOptions))("has the SDK's option %s: %s", (name, state) => {
  const row = rows.find(({ names }) => names.includes(name));
  expect(row?.here.startsWith("declined: ")).toBe(state === "declined");
  const [, reason = ""] = row?.here.split("declined: ") ?? [];
  expect(reason.length > 0).toBe(state === "declined");
});

it("names only options that there are", () => {
  const options = rows
    .filter(({ names }) => names.some((name) => name in transportOptions || name === "cors"))
    .filter(({ here }) => /^`[a-zA-Z]+(?:`|:)/.test(here))
    .flatMap(({ here }) => wordsIn(here).slice(0, 1))
    .map((words) => words.split(":")[0] ?? "");
  expect(options).toContain("onSessionOpened");
  expect(options.filter((option) => !httpOptions.rows.has(option))).toEqual([]);
});
