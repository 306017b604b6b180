// A server on a SQLite file whose tool is to be killed at work: node traced-server.ts DATABASE. It prints its URL, and each span as it ends, as
// lines of JSON. In its first life, whose number is in LIFE, the second step of the tool never ends.
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { SimpleSpanProcessor, TracerProvider, type SpanExporter } from "@opentelemetry/sdk-trace";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { openTelemetry } from "holdfast/opentelemetry";
import { sqliteStore } from "holdfast/sqlite";
import { toldSpan } from "./told-span.ts";

const [database = ""] = process.argv.slice(2);
const isFirst = process.env["LIFE"] === "1";
const tell = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const exporter: SpanExporter = {
  export(spans, done) {
    for (const span of spans) tell({ span: toldSpan(span) });
    done({ code: 0 });
  },
  shutdown: async () => undefined,
};
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });

const tasks = createTasks({
  store: sqliteStore(database),
  telemetry: openTelemetry({ tracerProvider }),
  crashBackoffMs: 10,
  pollIntervalMs: 50,
  rates: { pollsPerInterval: null, maxLoopDelayMs: null },
});
tasks.tool("ship", { requires: ["elicitation"] }, async (_, task) => {
  await task.step("build", () => tracerProvider.getTracer("author").startSpan("compile").end());
  await task.step("test", async () => {
    if (!isFirst) return;
    tell({ working: true });
    await new Promise(() => undefined);
  });
  const requestedSchema = { type: "object", properties: {} } as const;
  const { action } = await task.elicit("approve", { message: "Ship it?", requestedSchema });
  return { content: [{ type: "text", text: action }] };
});
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "harbour", version: "1.0.0" })),
  { port: Number(process.env["PORT"] ?? 0) },
);
tell({ url: http.url });
process.on("SIGTERM", () => void http.close());
