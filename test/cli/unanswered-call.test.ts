import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { fileHandles } from "../../src/client/handles/file-handles.ts";
import { folder, type Run } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

/** A server whose one tool counts its runs, and the state of a user whose call of it was never answered. */
async function callWithoutAnswer() {
  let runs = 0;
  const tasks = createTasks({ store: memoryStore() });
  tasks.tool("send", { inputSchema: z.object({}) }, async () => {
    runs++;
    return { content: [{ type: "text", text: "sent" }] };
  });
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "sends", version: "1.0.0" })),
    { port: 0 },
  );
  onTestFinished(async () => http.close());
  const state = await folder();
  const key = randomUUID();
  const call = { server: http.url, generation: "2026-07-28", tool: "send", args: {}, taskId: null };
  await fileHandles(join(state, "state.db")).keep({ ...call, key, startedAt: Date.now() });
  const run = async (...args: string[]): Promise<Run> => runMain(args, { env: { HOLDFAST_STATE: state } });
  return { key, run, runs: () => runs };
}

it("sends a call without an answer again for `watch` and `result` only", { timeout: 60_000 }, async () => {
  const { key, run, runs } = await callWithoutAnswer();
  for (const words of [["get"], ["cancel"], ["answer", "--accept"]]) {
    const [command = "", ...options] = words;
    const refused = await run(command, key, ...options);
    expect({ command, ...refused }).toMatchObject({ command, code: 2, stdout: "" });
    expect(refused.stderr).toContain(
      `its task is not known yet, and nothing was sent now. If the server recognises repeated calls, this sends the call again and waits for it:\n  holdfast watch ${key}\n`,
    );
  }
  expect(JSON.parse((await run("get", key, "--json")).stdout)).toMatchObject({
    error: { kind: "usage" },
    exitCode: 2,
  });
  expect(runs()).toBe(0);
  expect((await run("ls")).stdout).toContain("no answer yet");
  expect(await run("result", key)).toMatchObject({ code: 0, stdout: "sent\n" });
  expect(runs()).toBe(1);
});
