import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { adminToken, serveHttp } from "holdfast/http";
import { openTelemetry } from "holdfast/opentelemetry";
import { prometheusMetrics } from "holdfast/prometheus";
import { sqliteStore } from "holdfast/sqlite";
import * as z from "zod";

const { METRICS_TOKEN } = process.env;
if (METRICS_TOKEN === undefined)
  throw new Error("Set METRICS_TOKEN to a token for Prometheus: openssl rand -hex 32");

const metrics = prometheusMetrics();
const { meterProvider } = metrics;
const tasks = createTasks({ store: sqliteStore("tasks.db"), telemetry: openTelemetry({ meterProvider }) });

tasks.tool("resize", { inputSchema: z.object({ image: z.string() }) }, async ({ image }, task) => {
  const small = await task.step("resize", () => `${image} in small`);
  return { content: [{ type: "text", text: small }] };
});

const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "images", version: "1.0.0" })),
  {
    port: Number(process.env["PORT"] ?? 3000),
    // At /metrics, with its own token
    metrics: { source: metrics, authenticate: adminToken(METRICS_TOKEN, "prometheus") },
  },
);
console.log(http.url);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void http.close());
