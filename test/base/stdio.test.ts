import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { isSpecType } from "@modelcontextprotocol/server";
import { connect, type ServerProcess } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { compileCache } from "../compile-cache.ts";

const script = fileURLToPath(new URL("noisy-server.ts", import.meta.url));
/** Every character that some reader takes for the end of a line. */
const words = "one\ntwo\r\nthree\rfour\u2028five\u2029six\u0085größer\v\f";

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-stdio-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The messages that were written to a pipe, one on each line and nothing else. */
function messagesIn(written: string): Record<string, unknown>[] {
  expect(written.endsWith("\n")).toBe(true);
  const lines = written.slice(0, -1).split("\n");
  const messages = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const message of messages) expect(message).toSatisfy((each) => isSpecType.JSONRPCMessage(each));
  return messages;
}

it("writes messages alone to stdout, one on a line, and logs to stderr [B-052 B-053 B-056]", async () => {
  const server = spawn(process.execPath, [script], {
    stdio: "pipe",
    env: { ...process.env, ...compileCache },
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [stdout, stderr] = [readAll(server.stdout), readAll(server.stderr)];
  const clientInfo = { name: "desk", version: "1" };
  const capabilities = { tasks: {} };
  const messages = [
    { id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities, clientInfo } },
    { method: "notifications/initialized" },
    { id: 1, method: "tools/call", params: { name: "repeat", arguments: { words } } },
    { id: 2, method: "tools/call", params: { name: "repeat", arguments: { words }, task: {} } },
    { id: 3, method: "no/such" },
  ];
  const answered = Promise.withResolvers<void>();
  let seen = "";
  server.stdout.on("data", (chunk: Buffer) => {
    seen += chunk.toString();
    if ([0, 1, 2, 3].every((id) => seen.includes(`"id":${id}`))) answered.resolve();
  });
  for (const message of messages) server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  await answered.promise;
  server.stdin.end();
  await once(server, "close");
  const written = messagesIn(await stdout);
  const of = (id: number): Record<string, unknown> | undefined => written.find((each) => each["id"] === id);
  expect(of(1)).toMatchObject({ result: { content: [{ text: words }] } });
  expect(of(2)).toMatchObject({ result: { task: { status: "working" } } });
  expect(of(3)).toMatchObject({ error: { code: -32601 } });
  const logged = await stderr;
  expect(logged).toContain("ERROR: größte Sorge");
  expect(logged).toContain("a step\nin two lines");
});

it("writes messages alone to the server's stdin, one on a line [B-051 B-052 B-057]", async () => {
  const file = join(await temporaryFolder(), "stdin");
  const args = ["-c", 'tee "$0" | "$1" "$2"', file, process.execPath, script];
  for (const protocolVersion of ["2026-07-28", "2025-11-25"] as const) {
    const client = await connect(
      { command: "sh", args, env: compileCache, stderr: "ignore" },
      { protocolVersion, pollFloorMs: 1 },
    );
    onTestFinished(() => client.close());
    const handle = await client.startTool("repeat", { words });
    expect(handle.taskId).not.toBeNull();
    expect(await handle.result()).toMatchObject({ content: [{ text: words }] });
    await client.close();
    const calls = messagesIn(await readFile(file, "utf8")).filter(({ method }) => method === "tools/call");
    expect(calls).toMatchObject([{ params: { name: "repeat", arguments: { words } } }]);
  }
});

it("takes what a server writes to stderr for no error, wherever that goes [B-054 B-055]", async () => {
  const file = join(await temporaryFolder(), "stderr");
  const stream = createWriteStream(file);
  await once(stream, "open");
  let heard = "";
  const places: NonNullable<ServerProcess["stderr"]>[] = ["ignore", stream, (piece) => (heard += piece)];
  for (const stderr of places) {
    const client = await connect(
      { command: process.execPath, args: [script], env: compileCache, stderr },
      { pollFloorMs: 1 },
    );
    onTestFinished(() => client.close());
    expect(await client.callTool("repeat", { words: "a" })).toMatchObject({ content: [{ text: "a" }] });
    await client.close();
  }
  stream.close();
  for (const logged of [heard, await readFile(file, "utf8")]) {
    expect(logged).toContain("ERROR: größte Sorge");
    expect(logged).toContain('repeat: "a" ✓');
  }
});
