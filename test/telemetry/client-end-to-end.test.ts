import { PassThrough } from "node:stream";
import { SpanKind } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createTasks } from "holdfast";
import { connect, type OnInput, type ProtocolVersion, type ServerTarget } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { inCallersSpan } from "./calling.ts";
import { RecordedSpans } from "./recorded-spans.ts";

/** A server whose tool `ship` has a step and asks a question, over one of its transports. */
async function serve(transport: "http" | "stdio", spans: RecordedSpans): Promise<ServerTarget> {
  const rates = { pollsPerInterval: null };
  const { telemetry } = spans;
  const tasks = createTasks({
    store: memoryStore(),
    telemetry,
    pollIntervalMs: 1,
    stopDeadlineMs: 100,
    rates,
  });
  tasks.tool("ship", {}, async (_, task) => {
    const built = await task.step("build", () => "built");
    const requestedSchema = { type: "object", properties: {} } as const;
    const { action } = await task.elicit("approve", { message: "Ship it?", requestedSchema });
    return { content: [{ type: "text", text: `${built}, ${action}` }] };
  });
  const served = tasks.server(() => new McpServer({ name: "harbour", version: "1.0.0" }));
  if (transport === "http") {
    const http = await serveHttp(served, { port: 0 });
    onTestFinished(() => http.close());
    return http.url;
  }
  const [there, back] = [new PassThrough(), new PassThrough()];
  const stdio = await serveStdio(served, { stdin: there, stdout: back });
  onTestFinished(() => stdio.close());
  return new StdioServerTransport(back, there);
}

/** The names of the spans around one and its own, from its caller down. */
function pathOf(span: ReadableSpan, spans: RecordedSpans): string {
  const { parentSpanContext } = span;
  const parent = spans.all.find((other) => other.spanContext().spanId === parentSpanContext?.spanId);
  const name = span.kind === SpanKind.SERVER ? `server ${span.name}` : span.name;
  return parent === undefined ? name : `${pathOf(parent, spans)} > ${name}`;
}

interface Case {
  readonly transport: "http" | "stdio";
  readonly protocolVersion: ProtocolVersion;
  readonly generation?: "sep-1686";
}

const cases: readonly Case[] = [
  { transport: "http", protocolVersion: "2026-07-28" },
  { transport: "stdio", protocolVersion: "2026-07-28" },
  { transport: "http", protocolVersion: "2025-11-25" },
  { transport: "stdio", protocolVersion: "2025-11-25" },
  { transport: "http", protocolVersion: "2025-11-25", generation: "sep-1686" },
];

it.each(cases)(
  "is one trace from the caller to the steps of the task, over $transport in $protocolVersion $generation",
  async ({ transport, ...spoken }) => {
    const spans = new RecordedSpans();
    const { telemetry } = spans;
    const target = await serve(transport, spans);
    const onInput: OnInput = async () => ({ action: "accept", content: {} });
    const client = await connect(target, { telemetry, pollFloorMs: 1, listen: false, onInput, ...spoken });
    onTestFinished(() => client.close());
    const { value, traceId } = await inCallersSpan(spans, async () => client.callTool("ship"));
    await client.close();
    expect(value).toMatchObject({ content: [{ type: "text", text: "built, accept" }] });
    const ofTrace = spans.all.filter((span) => span.spanContext().traceId === traceId);
    const paths = new Set(ofTrace.map((span) => pathOf(span, spans)));
    const call = "caller > tools/call ship > server tools/call ship";
    expect([...paths]).toEqual(
      expect.arrayContaining([
        `${call} > execute_tool ship`,
        `${call} > step build`,
        `${call} > elicitation/create`,
        "caller > wait ship > tasks/get > server tasks/get",
      ]),
    );
    expect([...paths].filter((path) => !path.startsWith("caller"))).toEqual([]);
  },
);
