import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { onTestFinished } from "vitest";
import { compileCache } from "../compile-cache.ts";

/** The server that the protocol's makers publish. */
export const script = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);

/** Our client of the everything server that the protocol's makers publish, over stdio or over HTTP. */
export async function everythingOver(way: "stdio" | "http", options: ConnectOptions): Promise<TaskClient> {
  const target =
    way === "http"
      ? await startHttp()
      : { command: process.execPath, args: [script, "stdio"], env: compileCache, stderr: "ignore" as const };
  const client = await connect(target, options);
  onTestFinished(async () => client.close());
  return client;
}

/** Starts it over HTTP for this test, and gives its URL. */
export async function startHttp(): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [script, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  for await (const line of createInterface(child.stderr)) if (line.includes("listening")) break;
  child.stderr.resume();
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
