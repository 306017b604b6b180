import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, type ConnectOptions, type ServerProcess, type TaskClient } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";

const shyServer = fileURLToPath(new URL("shy-server.ts", import.meta.url));
const ourServer = fileURLToPath(new URL("../stdio-server.ts", import.meta.url));

async function start(server: ServerProcess, options: ConnectOptions = {}): Promise<TaskClient> {
  const client = await connect(server, { pollFloorMs: 1, ...options });
  onTestFinished(() => client.close());
  return client;
}

it("starts a process again, and does not ask it, that ends on the question about its version [B-P-010]", async () => {
  const shy = { command: process.execPath, args: [shyServer] };
  const client = await start(shy);
  expect(client.sdk.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  expect(await client.callTool("greet")).toMatchObject({ content: [{ text: "hello" }] });
  const pinned = start(shy, { protocolVersion: "2026-07-28" });
  await expect(pinned).rejects.toMatchObject({ code: "connection" });
});

it("fails clearly when a process ends whatever it is asked", async () => {
  const broken = { command: process.execPath, args: ["-e", "process.exit(3)"] };
  await expect(start(broken)).rejects.toMatchObject({ code: "connection" });
});

it("runs the tasks of a server of ours on a pipe, and is asked on it [C-095]", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const server = { command: process.execPath, args: [ourServer, join(folder, "tasks.db")] };
  const client = await start(server, {
    protocolVersion: "2025-11-25",
    onInput: async () => ({ action: "accept", content: { name: "Ann" } }),
  });
  const handle = await client.startTool("greet");
  expect(handle.reference?.generation).toBe("2025-11-25");
  expect(await handle.result()).toMatchObject({ content: [{ text: "hello Ann" }] });
});
