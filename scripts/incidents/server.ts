// A server with tools that go wrong: node server.ts STORE. It prints its origin.
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { adminToken, serveHttp } from "holdfast/http";
import { openTelemetry } from "holdfast/opentelemetry";
import { prometheusMetrics } from "holdfast/prometheus";
import { storeFromUrl } from "holdfast/store";

const [store = ""] = process.argv.slice(2);
const { CONCURRENCY = "64", VERSION = "1", WEBHOOK } = process.env;
process.once("disconnect", () => process.exit(1));

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const metrics = prometheusMetrics();
const tasks = createTasks({
  store: storeFromUrl(store),
  telemetry: openTelemetry({ meterProvider: metrics.meterProvider }),
  concurrency: Number(CONCURRENCY),
  unregisteredGraceMs: 60_000,
  rates: { callsPerMinute: null, maxLoopDelayMs: null },
  onError: () => undefined,
  ...(WEBHOOK !== undefined && {
    webhooks: [
      {
        name: "crm",
        url: WEBHOOK,
        secret: `whsec_${Buffer.alloc(32).toString("base64")}`,
        allowHttp: true,
        allowPrivate: ["127.0.0.1"],
      },
    ],
  }),
});
tasks.tool("publish", {}, () => text("published"));
tasks.tool("charge", {}, () => {
  throw new Error("The gateway does not answer.");
});
tasks.tool("hold", { onCrash: "resume" }, async (_, task) => {
  await new Promise((_resolve, reject) => task.signal.addEventListener("abort", reject));
  return text("held");
});
tasks.tool("leak", {}, () => new Promise<never>(() => undefined));
tasks.tool("hash", {}, () => {
  for (const begunAt = performance.now(); performance.now() - begunAt < 4_000;);
  return text("hashed");
});
tasks.tool("churn", { onCrash: "resume" }, async () => {
  for (;;) {
    for (const begunAt = performance.now(); performance.now() - begunAt < 600;);
    await new Promise((resolve) => setImmediate(resolve));
  }
});
// Another deploy has no such tool.
if (VERSION === "1")
  tasks.tool("move", {}, async (_, task) => {
    await task.sleep("pause", "2m");
    return text("moved");
  });
const http = await serveHttp(
  tasks.server(() => new McpServer({ name: "shop", version: "1.0.0" })),
  {
    port: 0,
    anonymous: "shared",
    metrics: { source: metrics, authenticate: adminToken("token-of-the-recorder", "prometheus") },
  },
);
process.once("SIGTERM", () => void http.close().then(() => process.exit(0)));
process.send?.(new URL(http.url).origin);
