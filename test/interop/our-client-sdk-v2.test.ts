import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect, type ClientEvent, type ConnectOptions, type TaskClient } from "holdfast/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { compileCache } from "../compile-cache.ts";

const script = fileURLToPath(new URL("./sdk-v2-server.ts", import.meta.url));

async function startHttp(): Promise<string> {
  const child = spawn(process.execPath, [script, "http"], { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error("The server did not start.");
}

async function connectOver(way: "stdio" | "http", options: ConnectOptions): Promise<TaskClient> {
  const target =
    way === "http"
      ? await startHttp()
      : { command: process.execPath, args: [script, "stdio"], env: compileCache, stderr: "ignore" as const };
  const client = await connect(target, options);
  onTestFinished(async () => client.close());
  return client;
}

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const versions = ["2026-07-28", "2025-11-25", "2025-06-18"] as const;
const ways = versions.flatMap((version) => [["stdio", version] as const, ["http", version] as const]);

describe.each(ways)("a server of SDK v2 without tasks over %s in %s", (way, protocolVersion) => {
  it("answers plain calls, which have no task to come back to", { timeout: 60_000 }, async () => {
    const events: ClientEvent[] = [];
    const client = await connectOver(way, { protocolVersion, onEvent: (event) => void events.push(event) });
    expect(await client.callTool("echo", { say: "hello" })).toMatchObject(text("hello"));
    const handle = await client.startTool("echo", { say: "again" });
    expect(handle).toMatchObject({ reference: null, taskId: null });
    const states: string[] = [];
    for await (const { status } of handle.updates()) states.push(status);
    expect(states).toEqual(["completed"]);
    await handle.cancel();
    expect(await handle.result()).toMatchObject(text("again"));
    await expect(client.resume(handle.reference)).rejects.toMatchObject({ code: "reference" });
    const answers = events.filter(({ type }) => type === "call_answered");
    expect(answers).toMatchObject([{ answer: "result" }, { answer: "result" }]);
  });

  it(
    "tells results that are errors from errors, and both from its own end",
    { timeout: 60_000 },
    async () => {
      const client = await connectOver(way, { protocolVersion });
      expect(await client.callTool("fails")).toMatchObject({ ...text("no paper"), isError: true });
      const unknown = await client.callTool("nothing").then(
        ({ isError }) => ({ isError }),
        (error: unknown) => error,
      );
      // Which of the two it is was the server's choice, and changed between revisions.
      expect([{ isError: true }, expect.objectContaining({ code: "rpc" })]).toContainEqual(unknown);
      await client.close();
      await expect(client.callTool("echo", { say: "late" })).rejects.toMatchObject({ code: "closed" });
    },
  );
});

it.each([
  ["stdio", "2026-07-28"],
  ["http", "2026-07-28"],
  ["stdio", "2025-11-25"],
] as const)(
  "a server of SDK v2 asks by forms and links over %s in %s [X-067]",
  { timeout: 60_000 },
  async (way, protocolVersion) => {
    const asked: unknown[] = [];
    const client = await connectOver(way, {
      protocolVersion,
      capabilities: { elicitation: { form: {}, url: {} } },
      onInput: async ({ method, params, taskId }) => {
        asked.push([method, "url" in params ? params.url : "form", taskId]);
        return "url" in params ? { action: "accept" } : { action: "decline" };
      },
    });
    expect(await client.callTool("asks")).toMatchObject(text("decline, accept"));
    expect(new Set(asked)).toEqual(
      new Set([
        ["elicitation/create", "form", null],
        ["elicitation/create", "https://pay.example/1", null],
      ]),
    );
    expect(asked).toHaveLength(2);
  },
);

it.each(["stdio", "http"] as const)(
  "a server of SDK v2 hears over %s what the client did not declare",
  { timeout: 60_000 },
  async (way) => {
    const asked: unknown[] = [];
    const client = await connectOver(way, {
      onInput: async ({ method }) => (asked.push(method), { action: "accept", content: {} }),
    });
    await expect(client.callTool("asks")).rejects.toMatchObject({ code: "missing_capability" });
    expect(asked).toEqual([]);
  },
);
