import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import { countingProxy } from "./counting-proxy.ts";
import { folder, startHoldfast } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

/** A server that takes requests and never answers, and a task of it on a list. */
async function silentServer() {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/mcp`;
  const state = await folder();
  const call = { server: url, generation: "2026-07-28", tool: "wait", args: {}, startedAt: 1 };
  await fileHandles(join(state, "state.db")).keep({ ...call, key: "K7", taskId: "T7" });
  return { url, env: { HOLDFAST_STATE: state }, isAsked: once(silent, "request") };
}

const comeBack = "before the server answered. To come back to the task:\n  holdfast watch T7";

it.each(["result", "watch", "get", "logs", "cancel"])(
  "%s says how to come back to a task whose server does not answer",
  { timeout: 60_000 },
  async (command) => {
    const { url, env } = await silentServer();
    const run = await runMain([command, "last", "--timeout", "0"], { env });
    expect(run).toMatchObject({ code: 7, stdout: "", stderr: `holdfast: Timed out ${comeBack}\n` });
    const elsewhere = await runMain([command, "T8", "--server", url, "--timeout", "0"], { env });
    expect(elsewhere.stderr).toContain(`holdfast watch T8 --server ${url}\n`);
  },
);

it(
  "says so after a signal too, and nothing of tasks where none is asked for",
  { timeout: 60_000 },
  async () => {
    const { url, env, isAsked } = await silentServer();
    const running = startHoldfast(["result", "last"], { env });
    await isAsked;
    running.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 143, stdout: "", stderr: `Gave up ${comeBack}\n` });
    const ping = await runMain(["ping", url, "--timeout", "0"], { env });
    expect(ping).toMatchObject({ code: 7, stderr: "holdfast: Timed out before the server answered.\n" });
    const call = await runMain(["call", url, "wait", "--timeout", "0"], { env });
    expect(call.stderr).toMatch(
      /^holdfast: Timed out before the call became a task, so .*nothing to come back to/,
    );
  },
);

it("says how to come back to a call that can be sent again", { timeout: 60_000 }, async () => {
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("send", {}, () => ({ content: [{ type: "text", text: "sent" }] }));
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "sends", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(async () => http.close());
  const called = Promise.withResolvers<void>();
  const proxy = await countingProxy(http.url, async () => {
    if (proxy.passed.at(-1)?.what !== "tools/call" || proxy.count("tools/call") > 1) return;
    called.resolve();
    await new Promise(() => undefined);
  });
  const env = { HOLDFAST_STATE: await folder() };
  const running = startHoldfast(["call", proxy.url, "send"], { env });
  await called.promise;
  running.kill("SIGTERM");
  const { code, stderr } = await running.ended;
  const [, id = ""] = /^ {2}holdfast watch (\S+)$/m.exec(stderr) ?? [];
  expect({ code, id }).toEqual({ code: 143, id: expect.stringMatching(/./) });
  expect(await runMain(["watch", id], { env })).toMatchObject({ code: 0, stdout: "sent\n" });
});
