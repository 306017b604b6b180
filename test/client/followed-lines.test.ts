import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTasks, type Tasks } from "holdfast";
import { connect, type ConnectOptions, type LogLine, type TaskClient } from "holdfast/client";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { systemClock, type ClientClock } from "../../src/client/clock.ts";
import { connectWith } from "../../src/client/connect.ts";
import { runMain } from "../cli/run-main.ts";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";

/** No poll comes before the test is over. */
const pollIntervalMs = 3_600_000;

/** A tool that logs a line, and the next one when the one before was read. */
function talking() {
  const read = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const tools = (tasks: Tasks): void => {
    tasks.tool("talk", {}, async (_, task) => {
      for (const [place, { promise }] of read.entries()) {
        await task.log("info", `line ${place}`);
        await task.output(`part ${place}`);
        await promise;
      }
      return text("done");
    });
  };
  return { tools, onRead: (place: number) => read[place]?.resolve() };
}

/** Does not come to the end of any wait of a second or more: neither to a poll, nor to a look at what may have been missed. */
const still: ClientClock = {
  ...systemClock,
  sleep: async (ms, signal) => systemClock.sleep(ms >= 1_000 ? 2 ** 30 : ms, signal),
};

const revisions: [string, ConnectOptions][] = [
  ["2026-07-28", {}],
  ["2025-11-25", { protocolVersion: "2025-11-25" }],
  ["SEP-1686", { protocolVersion: "2025-06-18" }],
];

/** Reads the log to its end; the lines come only as they are read. */
async function follow(client: TaskClient, onRead: (place: number) => void): Promise<void> {
  const handle = await client.startTool("talk");
  const lines: LogLine[] = [];
  for await (const line of handle.logs()) {
    lines.push(line);
    onRead(lines.length - 1);
  }
  expect(lines.map((line) => line.text)).toEqual(["line 0", "line 1", "line 2"]);
  const parts: unknown[] = [];
  for await (const { content } of handle.output()) parts.push(content);
  expect(parts).toHaveLength(3);
}

it.each(revisions)("follows a log over HTTP by what the server pushes on %s", async (_, options) => {
  const { tools, onRead } = talking();
  const { http } = await serve({ tools, http: { anonymous: "shared" }, options: { pollIntervalMs } });
  const client = await connectWith(http.url, options, still);
  onTestFinished(() => client.close());
  await follow(client, onRead);
});

it.each(revisions)("follows a log on a pipe by what the server pushes on %s", async (_, options) => {
  const { tools, onRead } = talking();
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100, pollIntervalMs });
  tools(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const client = await connectWith(new StdioServerTransport(stdout, stdin), options, still);
  onTestFinished(() => client.close());
  await follow(client, onRead);
});

it("has the command line follow a log by what the server pushes", async () => {
  const { tools, onRead } = talking();
  const { http } = await serve({ tools, http: { anonymous: "shared" }, options: { pollIntervalMs } });
  const client = await connect(http.url);
  onTestFinished(() => client.close());
  const handle = await client.startTool("talk");
  const printed = runMain(["logs", handle.taskId ?? "", "-f", "--server", http.url]);
  let place = 0;
  for await (const _ of handle.logs()) onRead(place++);
  const { stdout } = await printed;
  expect(stdout.match(/line \d/g)).toEqual(["line 0", "line 1", "line 2"]);
});

it.each(revisions)("polls where it is not to listen, on %s", async (_, options) => {
  const { tools, onRead } = talking();
  const { http } = await serve({
    tools,
    http: { anonymous: "shared" },
    options: { pollIntervalMs: 10 },
  });
  const client = await connect(http.url, { ...options, listen: false });
  onTestFinished(() => client.close());
  expect(JSON.stringify(client.sdk.getServerCapabilities())).not.toContain("taskLines");
  await follow(client, onRead);
});

it.each(revisions)("polls where the server refuses to push, on %s", async (_, options) => {
  const { tools, onRead } = talking();
  const refused: string[] = [];
  const { http } = await serve({
    tools,
    http: { anonymous: "shared" },
    options: { pollIntervalMs: 10 },
  });
  const fetchWithout: typeof fetch = async (url, init) => {
    const body = typeof init?.body === "string" ? init.body : "";
    const { id, method = "" } = body === "" ? {} : (JSON.parse(body) as { id?: number; method?: string });
    if (method !== "resources/subscribe" && method !== "subscriptions/listen") return fetch(url, init);
    refused.push(method);
    return Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
  };
  const client = await connect(http.url, { ...options, fetch: fetchWithout });
  onTestFinished(() => client.close());
  await follow(client, onRead);
  expect(refused).not.toEqual([]);
});

it("listens again where the stream of the pushes breaks", async () => {
  const { tools, onRead } = talking();
  const { http } = await serve({ tools, http: { anonymous: "shared" }, options: { pollIntervalMs } });
  let streams = 0;
  const breaking: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    const isListen = typeof init?.body === "string" && init.body.includes("resourceSubscriptions");
    if (!isListen || response.body === null) return response;
    streams += 1;
    const cut = new TransformStream<string, string>({
      transform: (chunk, out) => {
        if (streams === 1 && chunk.includes("resources/updated")) out.terminate();
        else out.enqueue(chunk);
      },
    });
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(cut)
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { headers: response.headers });
  };
  const client = await connectWith(http.url, { fetch: breaking }, still);
  onTestFinished(() => client.close());
  await follow(client, onRead);
  expect(streams).toBeGreaterThan(1);
});

it("looks by itself after a while, where a push was missed", async () => {
  const { tools, onRead } = talking();
  const { http } = await serve({ tools, http: { anonymous: "shared" }, options: { pollIntervalMs } });
  const waits: number[] = [];
  const hasty: ClientClock = {
    ...systemClock,
    sleep: async (ms, signal) => {
      waits.push(ms);
      return systemClock.sleep(ms >= 30_000 ? 10 : ms, signal);
    },
  };
  const deaf: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (init?.method !== "GET" || response.body === null) return response;
    const withoutNews = new TransformStream<string, string>({
      transform: (chunk, out) => {
        if (!chunk.includes("resources/updated")) out.enqueue(chunk);
      },
    });
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(withoutNews)
      .pipeThrough(new TextEncoderStream());
    return new Response(body, { headers: response.headers });
  };
  const client = await connectWith(http.url, { protocolVersion: "2025-11-25", fetch: deaf }, hasty);
  onTestFinished(() => client.close());
  await follow(client, onRead);
  expect(waits).toContain(30_000);
});
