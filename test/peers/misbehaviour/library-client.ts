// A client library before a faulty server, in a process of its own: node library-client.ts LIBRARY list|call URL | COMMAND ARGS...
// Prints the tools or the result as JSON; what it throws goes to stderr, as its message.
import { connect } from "holdfast/client";
import {
  Client as SdkV2Client,
  StreamableHTTPClientTransport as SdkV2Http,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as SdkV2Stdio } from "@modelcontextprotocol/client/stdio";
import { Client as SdkV1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as SdkV1Stdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as SdkV1Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

const [, , library = "", verb = "", target = "", ...args] = process.argv;
const isHttp = target.startsWith("http:");
const stdio = { command: target, args, stderr: "ignore" as const };
const who = { name: "peer", version: "1.0.0" };
/** In ms, of each request: shorter than the limit of the run. */
const timeout = 8_000;

/** What it finds, and how it ends. */
interface Opened {
  readonly list: () => Promise<unknown>;
  readonly call: () => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

async function holdfast(): Promise<Opened> {
  const client = await connect(isHttp ? target : stdio, { probeTimeoutMs: 5_000 });
  return {
    list: async () => client.listTools(),
    call: async () => client.callTool("t", {}, { unreachableTimeoutMs: 500 }),
    close: async () => client.close(),
  };
}

async function sdkV1(): Promise<Opened> {
  const client = new SdkV1Client(who);
  const transport: object = isHttp ? new SdkV1Http(new URL(target)) : new SdkV1Stdio(stdio);
  await client.connect(transport as Transport, { timeout }); // the SDK's own types disagree on what may be undefined
  return {
    list: async () => client.listTools({}, { timeout }),
    call: async () => client.callTool({ name: "t", arguments: {} }, undefined, { timeout }),
    close: async () => client.close(),
  };
}

async function sdkV2(): Promise<Opened> {
  const client = new SdkV2Client(who);
  await client.connect(isHttp ? new SdkV2Http(new URL(target)) : new SdkV2Stdio(stdio), { timeout });
  return {
    list: async () => client.listTools({}, { timeout }),
    call: async () => client.callTool({ name: "t", arguments: {} }, { timeout }),
    close: async () => client.close(),
  };
}

const openers: Readonly<Record<string, () => Promise<Opened>>> = { holdfast, sdkV1, sdkV2 };
try {
  const client = await openers[library]?.();
  const found = verb === "list" ? await client?.list() : await client?.call();
  process.stdout.write(`${JSON.stringify(found)}\n`);
  await client?.close();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
