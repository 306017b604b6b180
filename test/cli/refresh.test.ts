import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { connect, type ConnectOptions } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { quote } from "shlex";
import { describe, expect, it, onTestFinished } from "vitest";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import { countingProxy } from "./counting-proxy.ts";
import { folder, startHoldfast } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const stdioServer = fileURLToPath(new URL("../client/stdio-server.ts", import.meta.url));

/** A real server, whose tool works until it is cancelled. */
async function server(): Promise<string> {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tasks.tool("wait", {}, async (_, task) => {
    await new Promise((resolve) => task.signal.addEventListener("abort", resolve, { once: true }));
    return { content: [] };
  });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "waiting", version: "1.0.0" })),
    { port: 0, anonymous: "shared" },
  );
  onTestFinished(async () => http.close());
  return http.url;
}

/** A server that takes requests and never answers, and a promise of the first. */
async function silentServer() {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`;
  return { url, isAsked: once(silent, "request") };
}

async function startTasks(url: string, state: string, count: number, options: ConnectOptions = {}) {
  const client = await connect(url, { ...options, handles: join(state, "state.db") });
  for (let at = 0; at < count; at++) await client.startTool("wait");
  await client.close();
}

async function keepTask(state: string, url: string, taskId: string): Promise<void> {
  const call = { server: url, generation: "2026-07-28", tool: "wait", args: {}, startedAt: 1 };
  await fileHandles(join(state, "state.db")).keep({ ...call, key: taskId, taskId });
}

async function refresh(state: string, ...args: string[]) {
  const run = await runMain(["ls", "--refresh", "--json", ...args], { env: { HOLDFAST_STATE: state } });
  expect(run.code).toBe(0);
  const { tasks } = JSON.parse(run.stdout) as { tasks: { server: string; status: string }[] };
  return tasks.map(({ server: given, status }) => [given, status]);
}

describe("ls --refresh", { timeout: 60_000 }, () => {
  it("connects to an HTTP server once for all its tasks of a form of the protocol", async () => {
    const state = await folder();
    const { url, passed, count } = await countingProxy(await server());
    await startTasks(url, state, 3);
    await startTasks(url, state, 2, { protocolVersion: "2025-11-25" });
    passed.splice(0);
    expect(await refresh(state)).toEqual(Array(5).fill([url, "working"]));
    expect([count("server/discover"), count("initialize"), count("tasks/get")]).toEqual([1, 1, 5]);
  });

  it("starts a server that is a command once", async () => {
    const state = await folder();
    const starts = join(state, "starts");
    await writeFile(starts, "");
    const run = ["echo x >>", quote(starts), "; exec", process.execPath, quote(stdioServer)];
    const command = `sh -c ${quote([...run, quote(join(state, "tasks.db"))].join(" "))}`;
    const env = { HOLDFAST_STATE: state };
    const start = async () => runMain(["call", command, "wait", "--detach"], { env });
    for (const { code } of await Promise.all([start(), start()])) expect(code).toBe(0);
    await writeFile(starts, "");
    expect(await refresh(state)).toEqual(Array(2).fill([command, "working"]));
    expect(await readFile(starts, "utf8")).toBe("x\n");
  });

  it("asks servers at the same time", async () => {
    const state = await folder();
    const target = await server();
    const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // Each answers once the other was asked too.
    let holds = false;
    const meet = (own: typeof one) => async () => {
      if (!holds) return;
      own.resolve();
      await Promise.all([one.promise, other.promise]);
    };
    const proxies = [await countingProxy(target, meet(one)), await countingProxy(target, meet(other))];
    for (const { url } of proxies) await startTasks(url, state, 1);
    holds = true;
    expect(await refresh(state)).toEqual(proxies.map(({ url }) => [url, "working"]));
  });

  it("shows the tasks of a server that refuses the connection as unreachable, and those of others", async () => {
    const state = await folder();
    const gone = "http://127.0.0.1:1/mcp";
    await keepTask(state, gone, "t1");
    await keepTask(state, gone, "t2");
    const url = await server();
    await startTasks(url, state, 1);
    const expected = [
      [gone, "unreachable"],
      [gone, "unreachable"],
      [url, "working"],
    ];
    expect(await refresh(state)).toEqual(expected);
  });

  it("gives up on a server that does not answer within --timeout", async () => {
    const state = await folder();
    const { url } = await silentServer();
    await keepTask(state, url, "t1");
    expect(await refresh(state, "--timeout", "0.2")).toEqual([[url, "unreachable"]]);
  });

  it("is interrupted once, however many servers it waits for", async () => {
    const state = await folder();
    const servers = [await silentServer(), await silentServer()];
    for (const { url } of servers) await keepTask(state, url, url);
    const run = startHoldfast(["ls", "--refresh"], { env: { HOLDFAST_STATE: state } });
    await Promise.all(servers.map(async ({ isAsked }) => isAsked));
    run.kill("SIGINT");
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
    expect(stderr.match(/gave up/gi)).toHaveLength(1);
  });
});
