import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { onTestFinished } from "vitest";
import { compileCache } from "../compile-cache.ts";

/** The server that the protocol's makers publish. */
export const script = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);

/** How the everything server is spoken to. */
export type Way = "stdio" | "http" | "http+sse";

/** Our client of the everything server that the protocol's makers publish. */
export async function everythingOver(way: Way, options: ConnectOptions): Promise<TaskClient> {
  const command = process.execPath;
  const target =
    way === "stdio"
      ? { command, args: [script, "stdio"], env: compileCache, stderr: "ignore" as const }
      : await (way === "http" ? startHttp() : startSse());
  const client = await connect(target, options);
  onTestFinished(async () => client.close());
  return client;
}

/** Starts it over HTTP for this test, and gives its URL. */
export async function startHttp(): Promise<string> {
  return startOnPort([script, "streamableHttp"], "PORT");
}

/** Starts it with the HTTP+SSE transport of 2024-11-05 alone, and gives the URL of its stream. */
export async function startSse(): Promise<string> {
  return (await startOnPort([script, "sse"], "PORT", "is running")).replace(/mcp$/, "sse");
}

/** Starts a script that is told its port by a variable, and says when it listens. Gives its URL. */
export async function startOnPort(
  args: readonly string[],
  variable: string,
  said = "listening",
): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [...args], {
    env: { ...process.env, [variable]: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = new PassThrough();
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  for await (const line of createInterface(output)) if (line.includes(said)) break;
  output.resume();
  return `http://127.0.0.1:${port}/mcp`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
