import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTasks } from "holdfast";
import { connect, type ConnectOptions, type ServerProcess, type TaskClient } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock, type ClientClock } from "../../src/client/clock.ts";
import { connectWith } from "../../src/client/connect.ts";
import { compileCache } from "../compile-cache.ts";

const text = (words: string): object => ({ content: [{ type: "text", text: words }] });

/** Loses patience a hundred times as soon. */
const hastyClock: ClientClock = { ...systemClock, deadline: (ms) => systemClock.deadline(ms / 100) };

/** A server process on a database of its own. */
async function program(): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const script = fileURLToPath(new URL("stdio-server.ts", import.meta.url));
  return { command: process.execPath, args: [script, join(folder, "tasks.db")], env: compileCache };
}

async function start(server: ServerProcess, options: ConnectOptions = {}): Promise<TaskClient> {
  const client = await connect(server, { pollFloorMs: 1, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function pidOf(client: TaskClient): Promise<number> {
  const { content } = await client.callTool("pid");
  const [block] = content;
  return block?.type === "text" ? Number(block.text) : 0;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a server process", () => {
  it("is started, serves tasks and their questions, and ends with the client [B-047]", async () => {
    const client = await start(await program(), {
      onInput: async () => ({ action: "accept", content: { name: "Ann" } }),
    });
    const pid = await pidOf(client);
    expect(await client.callTool("greet")).toEqual(text("hello Ann"));
    expect((await client.sdk.listTools()).tools.map(({ name }) => name)).toContain("greet");
    expect(isAlive(pid)).toBe(true);
    await client.close();
    expect(isAlive(pid)).toBe(false);
  });

  it("gets large messages without a warning of a leak, one by one and at once", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): number => warnings.push(name);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const client = await start(await program());
    const args = { filling: "x".repeat(300_000) };
    for (let nth = 0; nth < 12; nth += 1) await client.callTool("pid", args);
    await Promise.all(Array.from({ length: 12 }, async () => client.callTool("pid", args)));
    expect(warnings).toEqual([]);
  });

  it("ends all that waits with `connection` when it dies, and the next one goes on [X-052 X-053 X-B-024]", async () => {
    const server = await program();
    const first = await start(server);
    const handle = await first.startTool("wait");
    const wait = handle.result();
    const seen = (async () => {
      for await (const task of handle.updates()) if (task.statusMessage === "waiting") return task.status;
      return "";
    })();
    expect(await seen).toBe("working");
    await Promise.all([
      expect(first.callTool("crash")).rejects.toMatchObject({ code: "connection" }),
      expect(wait).rejects.toMatchObject({ code: "connection" }),
    ]);
    await expect(handle.get()).rejects.toMatchObject({ code: "connection" });
    await expect(handle.result()).rejects.toMatchObject({ code: "connection" });
    await expect(first.callTool("pid")).rejects.toMatchObject({ code: "connection" });

    const second = await start(server);
    const again = await second.resume(handle.reference);
    expect((await again.get()).status).toBe("working");
    await again.cancel();
    await expect(again.result()).rejects.toMatchObject({ code: "cancelled" });
  });

  it("that a wrapper has started ends with the client, although it goes on without stdin", async () => {
    const script = fileURLToPath(new URL("stubborn-server.ts", import.meta.url));
    // Not the last command: a shell would make way for that one.
    const wrapper = { command: "sh", args: ["-c", `"$0" "$1"; true`, process.execPath, script] };
    const client = await connectWith(wrapper, {}, hastyClock);
    const pid = await pidOf(client);
    expect(isAlive(pid)).toBe(true);
    await client.close();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 30_000 });
  });

  it("that a wrapper has started ends although its client was killed", async () => {
    const script = fileURLToPath(new URL("stubborn-server.ts", import.meta.url));
    const source = `
      import { connect } from "holdfast/client";
      const args = ["-c", '"$0" "$1"; true', process.execPath, ${JSON.stringify(script)}];
      const client = await connect({ command: "sh", args });
      const { content } = await client.callTool("pid");
      console.log(content[0].text);`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(owner.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    expect(isAlive(pid)).toBe(true);
    owner.kill("SIGKILL");
    await vi.waitUntil(() => !isAlive(pid), { timeout: 30_000 });
  });

  /** Answers what is asked by `answer`, and says so on its stderr. */
  const talkative = (answer: string): ServerProcess => ({
    command: process.execPath,
    args: [
      "-e",
      `process.stderr.on("error", () => undefined);
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        process.stderr.write("asked for " + method);
        const serverInfo = { name: "talkative", version: "1" };
        const initialized = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
        if (method === "tools/call") { ${answer} }
        else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: initialized }));
      });`,
    ],
  });

  it("ends what waits when it dies, although something that it started goes on and holds its stderr", async () => {
    const daemon = `const stdio = ["ignore", "ignore", "inherit"];
      require("node:child_process").spawn("sleep", ["600"], { stdio });
      process.stderr.write("last words", () => process.exit(3));`;
    const client = await start({ ...talkative(daemon), stderr: "ignore" }, { protocolVersion: "2025-06-18" });
    await expect(client.callTool("any")).rejects.toMatchObject({
      code: "connection",
      message: expect.stringMatching(/exited with code 3.*last words$/s),
    });
  });

  it.each([
    ["closed its stdout", 1],
    ["no longer reads its stdin", 0],
  ])("that %s, and lives on, ends what waits with `connection`", async (how, descriptor) => {
    const half = `require("node:fs").closeSync(${descriptor}); setInterval(() => undefined, 1_000);`;
    const client = await start(talkative(half), { protocolVersion: "2025-06-18" });
    let ended = false;
    const called = client.callTool("any").finally(() => (ended = true));
    const writes = async (): Promise<boolean> => {
      // Only a write shows that nobody reads.
      if (descriptor === 0) client.sdk.ping().catch(() => undefined);
      return ended;
    };
    const error = { code: "connection", message: expect.stringContaining(how) };
    await Promise.all([expect(called).rejects.toMatchObject(error), vi.waitUntil(writes, 20_000)]);
  });

  it("may write to its stderr although nobody reads that of the client any more", async () => {
    const answer = `console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } }));`;
    const source = `
      import { connect } from "holdfast/client";
      const client = await connect(${JSON.stringify(talkative(answer))}, { protocolVersion: "2025-06-18" });
      await client.callTool("any");
      await client.callTool("any");
      await client.close();
      console.log("done");`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    owner.stderr.destroy();
    let said = "";
    owner.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    const [code] = (await once(owner, "close")) as [number];
    expect([said, code]).toEqual(["done\n", 0]);
  });

  it("that cannot be started, or is no server, is told of", async () => {
    const missing = { command: join(tmpdir(), "no-such-program"), args: ["--key", "s3cret"] };
    const fault: unknown = await connect(missing, { serverName: "files" }).catch((error: unknown) => error);
    expect(fault).toMatchObject({
      code: "connection",
      message: expect.stringContaining("no-such-program") as string,
    });
    expect(inspect(fault, { depth: 9 })).not.toContain("s3cret");
    const silent = { command: process.execPath, args: ["-e", ""] };
    await expect(connect(silent)).rejects.toMatchObject({ code: "connection" });
  });

  it("is ended when connecting is given up", async () => {
    const controller = new AbortController();
    const mute = { command: process.execPath, args: ["-e", "process.stdin.resume()"] };
    const connecting = connect(mute, { signal: controller.signal });
    controller.abort(new Error("no patience"));
    await expect(connecting).rejects.toThrow("no patience");
  });
});

describe("a transport of the SDK", () => {
  interface Piped {
    readonly client: TaskClient;
    /** Ends what the server sends, as the end of its process does. */
    readonly hangUp: () => void;
    readonly aborted: Promise<void>;
    readonly begun: Promise<void>;
  }

  async function piped(): Promise<Piped> {
    const aborted = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
    tasks.tool("slow", { task: "forbidden" }, async (_, { signal }) => {
      signal.addEventListener("abort", () => aborted.resolve(), { once: true });
      begun.resolve();
      await aborted.promise;
      return { content: [] };
    });
    tasks.tool("hello", {}, async () => ({ content: [{ type: "text", text: "hello" }] }));
    const [there, back] = [new PassThrough(), new PassThrough()];
    const makeServer = (): McpServer => new McpServer({ name: "piped", version: "1.0.0" });
    const server = await serveStdio(tasks.server(makeServer), { stdin: there, stdout: back });
    onTestFinished(() => server.close());
    const transport = new StdioServerTransport(back, there);
    const client = await connect(transport, { pollFloorMs: 1, serverName: "piped" });
    onTestFinished(() => client.close());
    return { client, hangUp: () => back.end(), aborted: aborted.promise, begun: begun.promise };
  }

  it("carries tasks, under the name that it was given", async () => {
    const { client } = await piped();
    const handle = await client.startTool("hello");
    expect(handle.reference).toMatchObject({ server: "piped", generation: "2026-07-28" });
    expect(await handle.result()).toEqual(text("hello"));
  });

  it("tells the server of a call that was given up, and goes on [X-B-016]", async () => {
    const { client, aborted, begun } = await piped();
    const controller = new AbortController();
    const call = client.callTool("slow", {}, { signal: controller.signal });
    await begun;
    controller.abort(new Error("no patience"));
    await expect(call).rejects.toThrow("no patience");
    await aborted;
    expect(await client.callTool("hello")).toEqual(text("hello"));
  });

  it("ends what waits with `connection` when the other side closes it", async () => {
    const { client, hangUp, begun } = await piped();
    const call = client.callTool("slow");
    await begun;
    hangUp();
    await expect(call).rejects.toMatchObject({ code: "connection" });
  });
});
