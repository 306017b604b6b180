import type { ClientName } from "../clients/open-client.ts";
import { PeerRecord } from "./peer-record.ts";

const packages: Readonly<Record<ClientName, string>> = {
  "SDK v1": "@modelcontextprotocol/sdk",
  "SDK v2": "@modelcontextprotocol/client",
  LangChain: "@langchain/mcp-adapters",
  "mcp-use": "mcp-use",
  "AI SDK": "@ai-sdk/mcp",
  "OpenAI Agents": "@openai/agents-core",
  Mastra: "@mastra/mcp",
};

/** Of a client library that is used without tasks, in one of the suites; the page has them in the order of their names. */
export function clientRecord(name: ClientName, suite: string): PeerRecord {
  const file = `${name.toLowerCase().replaceAll(" ", "-")}-${suite}`;
  return new PeerRecord(file, { peer: name, package: packages[name], as: "client" });
}
