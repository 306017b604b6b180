import { spawn } from "node:child_process";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { onTestFinished } from "vitest";
import { root } from "../conformance/everything-server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";

export type Result = Record<string, unknown>;

/** A client that knows nothing of tasks. Each call rejects once it has taken as long as hosts allow: here `patienceMs`. */
export interface PlainClient {
  call(name: string, args: object): Promise<Result>;
  names(): Promise<string[]>;
}

/** All of a job is longer than this, and the server's deadline is shorter. */
export const patienceMs = 2_000;

/** Where the server is: at a URL, or in a process that the client starts. */
export type Place = { readonly url: string } | { readonly env: Readonly<Record<string, string>> };

const args = [`${root}test/everything/main.ts`, "--stdio"];
const clientInfo = { name: "plain", version: "1.0.0" };

function command(env: Readonly<Record<string, string>>): {
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
} {
  return { command: process.execPath, args, cwd: root, env: { ...env } };
}

/** SDK v2's client on 2026-07-28, which does not declare the extension. */
export async function sdkV2(place: Place): Promise<PlainClient> {
  const client = new ClientV2(clientInfo, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect("url" in place ? new HttpV2(new URL(place.url)) : new StdioV2(command(place.env)));
  onTestFinished(() => client.close());
  return {
    call: (name, given) => client.callTool({ name, arguments: { ...given } }, { timeout: patienceMs }),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
  };
}

/** SDK v1's client on 2025-11-25, which declares no tasks. */
export async function sdkV1(place: Place): Promise<PlainClient> {
  const client = new ClientV1(clientInfo);
  const transport: object = "url" in place ? new HttpV1(new URL(place.url)) : new StdioV1(command(place.env));
  await client.connect(transport as Transport); // the SDK's own types disagree on what may be undefined
  onTestFinished(() => client.close());
  return {
    call: (name, given) =>
      client.callTool({ name, arguments: { ...given } }, undefined, { timeout: patienceMs }),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
  };
}

/** JSON-RPC of an older revision, as it stands on the wire. */
export function raw(version: string): (place: Place) => Promise<PlainClient> {
  return async (place) => {
    const request = "url" in place ? await overHttp(place.url, version) : await overPipe(place.env, version);
    const within = async (method: string, params: object): Promise<Result> => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new Error(`${method} took too long`)), patienceMs);
      try {
        return await Promise.race([request(method, params), late.promise]);
      } finally {
        clearTimeout(timer);
      }
    };
    return {
      call: (name, given) => within("tools/call", { name, arguments: given }),
      names: async () => {
        const { tools } = await within("tools/list", {});
        return (tools as { name: string }[]).map(({ name }) => name);
      },
    };
  };
}

type Request = (method: string, params: object) => Promise<Result>;

async function overHttp(url: string, version: string): Promise<Request> {
  const peer = await SessionClient.open(url, { version, capabilities: {} });
  return async (method, params) => (await peer.request(method, params))["result"] as Result;
}

async function overPipe(env: Readonly<Record<string, string>>, version: string): Promise<Request> {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, stdio: "pipe" });
  const pipe = new StdioClient(child.stdin, child.stdout);
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    pipe.end();
    await ended;
  });
  let id = 0;
  const request: Request = async (method, params) => {
    const own = ++id;
    pipe.write({ id: own, method, params });
    for (let message = await pipe.next(); message !== undefined; message = await pipe.next()) {
      if (message["id"] === own) return message["result"] as Result;
    }
    throw new Error("The server ended.");
  };
  await request("initialize", { protocolVersion: version, capabilities: {}, clientInfo });
  pipe.write({ method: "notifications/initialized" });
  return request;
}
