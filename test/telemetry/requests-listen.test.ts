import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { Subscription } from "../kit/subscription.ts";
import { RecordedSpans } from "./recorded-spans.ts";

const method = "subscriptions/listen";

async function listenable(): Promise<{ spans: RecordedSpans; url: string; close: () => Promise<void> }> {
  const spans = new RecordedSpans();
  const { http } = await serve({
    tools: (tasks) => tasks.tool("hang", {}, () => new Promise<never>(() => undefined)),
    options: { telemetry: spans.telemetry },
  });
  return { spans, url: http.url, close: () => http.close() };
}

it.each([[{ toolsListChanged: true }], [{ taskIds: [] }]])(
  "ends the span of a listen request for %j over HTTP when its client leaves",
  async (notifications) => {
    const { spans, url } = await listenable();
    const listener = await Subscription.to(url, notifications, { id: "listens" });
    await listener.next();
    expect(spans.named(method)).toEqual([]);
    await listener.leave();
    expect((await spans.ended(method)).attributes).toMatchObject({
      "mcp.protocol.version": "2026-07-28",
      "jsonrpc.request.id": "listens",
      "error.type": "cancelled",
    });
  },
);

it("ends the span of a listen request over HTTP that the server answers at its end", async () => {
  const { spans, url, close } = await listenable();
  const id = await new StatelessClient(url).start("hang");
  const listener = await Subscription.to(url, { taskIds: [id] });
  await listener.next();
  await listener.until("working");
  await close();
  const span = await spans.ended(method);
  expect(span.attributes["error.type"]).toBeUndefined();
});

it("says with which code a listen request over HTTP was refused", async () => {
  const { spans, url } = await listenable();
  await new StatelessClient(url).send(method, { notifications: { taskIds: "all" } });
  const [span] = spans.named(method);
  expect(span?.attributes["rpc.response.status_code"]).toBe("-32602");
});

it("traces listen requests on a pipe, until they are cancelled, refused, or the pipe ends", async () => {
  const spans = new RecordedSpans();
  const tasks = createTasks({ store: memoryStore(), telemetry: spans.telemetry, stopDeadlineMs: 100 });
  tasks.tool("ship", {}, () => text("shipped"));
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio(
    tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" })),
    { stdin, stdout },
  );
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  await pipe.request("server/discover");
  pipe.listen("a", { taskIds: [] });
  await pipe.next();
  pipe.listen("b", { taskIds: "all" });
  await pipe.next();
  pipe.listen("c", { toolsListChanged: true });
  await pipe.next();
  pipe.cancel("a");
  await pipe.request("ping");
  await server.close();
  const ends = spans
    .named(method)
    .map(({ attributes }) => [attributes["jsonrpc.request.id"], attributes["error.type"]]);
  expect(ends).toEqual([
    ["b", "-32602"],
    ["a", "cancelled"],
    ["c", undefined],
  ]);
});
