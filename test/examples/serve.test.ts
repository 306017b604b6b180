import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect, type TaskClient } from "holdfast/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

vi.setConfig({ testTimeout: 120_000 }); // with real processes, on a busy machine
const root = fileURLToPath(new URL("../../", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;

let folder: string;
let server: ChildProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-serve-"));
  await cp(join(root, "examples/serve"), folder, { recursive: true });
});
afterEach(async () => {
  await killed();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Starts the server, and resolves with its address. */
async function start(port = 0): Promise<URL> {
  const args = [join(root, "dist/cli.js"), "serve", "tools.yaml", "--port", String(port)];
  const env = { PATH: process.env["PATH"], HOME: folder, XDG_STATE_HOME: folder };
  server = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  if (server.stdout === null) throw new Error("no stdout");
  const [line] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
  return new URL(line);
}

async function killed(): Promise<void> {
  const child = server;
  server = undefined;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** How far the program of the only call has come. */
async function pagesWritten(): Promise<number> {
  const calls = join(folder, "holdfast/calls");
  const [call] = await readdir(calls).catch(() => []);
  if (call === undefined) return 0;
  const messages = await readFile(join(calls, call, "messages"), "utf8").catch(() => "");
  return messages.split('"progress"').length - 1;
}

/** A client whose user answers each question with these values. */
function user(url: URL, content: Record<string, string | boolean>): Promise<TaskClient> {
  return connect(url, { onInput: async () => ({ action: "accept", content }) });
}

it("serves programs in a shell and in Node, which report and ask", async () => {
  const client = await user(await start(), { name: "notes.md", approve: true });
  try {
    expect(await client.callTool("build", { target: "debug" })).toMatchObject({
      content: [{ text: "step 1 of the debug build\nstep 2 of the debug build\nstep 3 of the debug build" }],
    });
    expect(await client.callTool("build", { target: "release" })).toMatchObject({
      isError: true,
      content: [{ text: "There is no compiler for this target." }],
    });
    expect(await client.callTool("rename", { file: "a.md" })).toMatchObject({
      content: [{ text: "It is called notes.md now." }],
    });
    expect(await client.callTool("publish", { page: "home" })).toMatchObject({
      content: [{ text: "published home" }],
    });
  } finally {
    await client.close();
  }
});

it.skipIf(!hasPython)(
  "goes on with a Python program through kills of the server, once, and leaves nothing behind",
  async () => {
    const url = await start();
    const client = await user(url, { to: "ann" });
    try {
      const call = client.callTool("report", { pages: 30 });
      for (const pages of [5, 15]) {
        await vi.waitUntil(async () => (await pagesWritten()) >= pages, 60_000);
        await killed();
        await start(Number(url.port));
      }
      const result = await call;
      expect(result.structuredContent).toEqual({ pages: 30, sentTo: "ann" });
      const link = result.content.find(({ type }) => type === "resource_link");
      // Another run would have begun the file again.
      const pages = Array.from({ length: 30 }, (_, page) => `Page ${page + 1}\n`).join("");
      expect(link).toMatchObject({ name: "report.txt", size: pages.length });
      for (const left of ["calls", "exec"])
        await vi.waitUntil(async () => (await readdir(join(folder, "holdfast", left))).length === 0, 30_000);
    } finally {
      await client.close();
    }
  },
);
