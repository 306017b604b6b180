import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, type ServerEvent, type Tasks } from "holdfast";
import {
  adminToken,
  createMetricsHandler,
  serveHttp,
  type HttpOptions,
  type MetricsHandlerOptions,
} from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { openTelemetry } from "holdfast/opentelemetry";
import { prometheusMetrics, type PrometheusMetrics } from "holdfast/prometheus";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";

const token = "token-of-prometheus";
const authenticate = adminToken(token, "prometheus");
const asPrometheus = { headers: { Authorization: `Bearer ${token}` } };

interface Measured {
  readonly tasks: Tasks;
  readonly source: PrometheusMetrics;
  readonly events: ServerEvent[];
  readonly errors: unknown[];
}

function measured(): Measured {
  const source = prometheusMetrics();
  const { meterProvider } = source;
  const events: ServerEvent[] = [];
  const errors: unknown[] = [];
  const tasks = createTasks({
    store: memoryStore(),
    stopDeadlineMs: 100,
    telemetry: openTelemetry({ meterProvider }),
    onEvent: (event) => events.push(event),
    onError: (error) => errors.push(error),
  });
  tasks.tool("ship", {}, () => text("shipped"));
  onTestFinished(() => tasks.stop());
  return { tasks, source, events, errors };
}

async function served({ tasks }: Measured, options: HttpOptions): Promise<string> {
  const http = await serveHttp(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { port: 0, ...options },
  );
  onTestFinished(() => http.close());
  return new URL(http.url).origin;
}

it("serves metrics as Prometheus wants them, to who has its token", async () => {
  const all = measured();
  const { source, events } = all;
  const origin = await served(all, { metrics: { source, authenticate } });
  const answer = await fetch(`${origin}/metrics`, asPrometheus);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const body = await answer.text();
  // Names end in their units, and counters in _total; a line of a type comes before its samples.
  expect(body).toMatch(
    /^# TYPE holdfast_store_write_duration_seconds histogram\nholdfast_store_write_duration_seconds_count\{/m,
  );
  expect(body).toMatch(/^nodejs_eventloop_delay_p99_seconds\{|^holdfast_slot_limit\{.*\} \d+$/m);
  // What alerts wait for is there before it happens: Prometheus sees no rise in a counter that begins at 1.
  for (const name of ["store_losses", "store_listener_losses", "owner_losses", "task_damages"])
    expect(body).toMatch(new RegExp(`^holdfast_${name}_total(?:\\{.*\\})? 0$`, "m"));
  expect(body).toMatch(/^holdfast_attempt_interruptions_total\{holdfast_attempt_end="lost".*\} 0$/m);
  const lines = body.split("\n").filter((line) => line !== "");
  const isLine = /^(?:# (?:HELP|TYPE|UNIT) .+|[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})? \S+)$/;
  expect(lines.filter((line) => !isLine.test(line))).toEqual([]);
  const head = await fetch(`${origin}/metrics`, { ...asPrometheus, method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);

  for (const headers of [{}, { Authorization: "Bearer another" }]) {
    const refused = await fetch(`${origin}/metrics`, { headers });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="metrics"',
    ]);
  }
  expect(events.filter(({ type }) => type === "request.refused")).toHaveLength(2);
  expect((await fetch(`${origin}/metrics`, { ...asPrometheus, method: "POST" })).status).toBe(405);
  expect((await fetch(`${origin}/metrics/more`, asPrometheus)).status).toBe(404);
  const other = await fetch(`${origin}/metrics`, {
    headers: { ...asPrometheus.headers, Origin: "https://evil.example" },
  });
  expect(other.status).toBe(403);
});

it("is not there unless it was asked for", async () => {
  expect((await fetch(`${await served(measured(), {})}/metrics`, asPrometheus)).status).toBe(404);
});

it("serves beside the admin endpoint, under a path of its own", async () => {
  const all = measured();
  const { source, tasks } = all;
  const operators = adminToken("token-of-ann");
  const origin = await served(all, {
    admin: { authenticate: operators },
    metrics: { source, authenticate, path: "/internal/metrics" },
  });
  expect((await fetch(`${origin}/internal/metrics`, asPrometheus)).status).toBe(200);
  expect((await fetch(`${origin}/admin/tasks`, asPrometheus)).status).toBe(401);
  const server = tasks.server(() => new McpServer({ name: "reports", version: "1" }));
  for (const path of ["/mcp", "/admin", "/admin/metrics"])
    await expect(
      serveHttp(server, {
        port: 0,
        admin: { authenticate: operators },
        metrics: { source, authenticate, path },
      }),
    ).rejects.toThrow("overlaps with");
});

it("needs an authentication, a source and tasks, and takes no path that nobody can ask for", () => {
  const { tasks, source } = measured();
  const wrong: [given: object, message: string][] = [
    [{ source }, "needs authenticate: a function that identifies operators"],
    [{ authenticate }, "needs source: what prometheusMetrics()"],
    [{ authenticate, source, path: "metrics" }, 'path must be a path such as "/ops", not "metrics".'],
    [{ authenticate, source, token }, "token"],
  ];
  for (const [given, message] of wrong)
    expect(() => createMetricsHandler(tasks, given as MetricsHandlerOptions)).toThrow(message);
  expect(() => createMetricsHandler({} as Tasks, { authenticate, source })).toThrow(
    "what createTasks returns",
  );
});

it("answers as a function too, and hides what goes wrong in the source", async () => {
  const { tasks, errors } = measured();
  const source = { contentType: "text/plain", text: () => Promise.reject(new Error("secret")) };
  const handler = createMetricsHandler(tasks, { source, authenticate, allowedHosts: "any" });
  const request = new Request("http://localhost/metrics", {
    headers: { ...asPrometheus.headers, Host: "x" },
  });
  const answer = await handler.fetch(request);
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("secret");
  expect(errors).toHaveLength(1);
  handler.close();
  expect((await handler.fetch(request)).status).toBe(503);
});

it("gives the same text to those who ask at the same time, with metrics of the author's own", async () => {
  const metrics = prometheusMetrics();
  const counter = metrics.meterProvider.getMeter("own").createCounter("parcels", { unit: "By" });
  counter.add(2, { to: 'a"b' });
  const [first, second] = await Promise.all([metrics.text(), metrics.text()]);
  expect(first).toBe(second);
  expect(first).toContain('parcels_bytes_total{to="a\\"b",otel_scope_name="own"} 2');
});
