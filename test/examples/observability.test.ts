import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { connect, type OnInput } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { attribute } from "../../src/telemetry/spans.ts";
import { metric } from "../../src/telemetry/metric.ts";
import { example, newFolder, serveExample } from "../docs/example-process.ts";

const read = (name: string): Promise<string> => readFile(example(`observability/${name}`), "utf8");
const underscored = (name: string): string => name.replaceAll(".", "_");

/** What Prometheus calls the metrics: with their units, and what they have of their kinds. */
const inPrometheus = new Set(
  Object.values(metric).flatMap(({ name, kind, unit }) => {
    const base = underscored(name) + (unit === "s" ? "_seconds" : "");
    if (kind === "counter") return [`${base}_total`];
    return kind === "histogram" ? [`${base}_bucket`, `${base}_sum`, `${base}_count`] : [base];
  }),
);
const labels = new Set([
  ...Object.values(attribute).map(underscored),
  "le",
  "service_name",
  "service_instance_id",
]);

it.each(["alerts.yml", "grafana/holdfast.json"])("asks for metrics that there are: %s", async (file) => {
  const used = (await read(file)).match(/\b(?:holdfast|mcp|nodejs|gen_ai)_\w+/g) ?? [];
  expect(used.length).toBeGreaterThan(10);
  expect(used.filter((name) => !inPrometheus.has(name) && !labels.has(name))).toEqual([]);
});

it.each(["keda.yaml", "hpa.yaml"])("scales by metrics that there are: %s", async (file) => {
  const queries = (await read(file)).match(/(?:sum|max)\([^\n]*/g) ?? [];
  const used = queries.join("\n").match(/\b(?:holdfast|gen_ai)_\w+/g) ?? [];
  expect(new Set(used)).toEqual(
    new Set([
      "holdfast_slot_usage",
      "gen_ai_tool_name",
      "holdfast_queue_length",
      "holdfast_queue_state",
      "holdfast_queue_age_seconds",
    ]),
  );
  expect(used.filter((name) => !inPrometheus.has(name) && !labels.has(name))).toEqual([]);
});

it("shows each kind of metric on the dashboard", async () => {
  const dashboard = await read("grafana/holdfast.json");
  const isShown = ({ name }: { readonly name: string }): boolean => dashboard.includes(underscored(name));
  const hidden = Object.values(metric).filter((each) => !isShown(each));
  expect(hidden.map(({ name }) => name)).toEqual([
    "mcp.client.operation.duration", // of clients
    "holdfast.attempt.starts",
    "holdfast.handler.active",
    "holdfast.handler.leaked", // there is an alert
    "nodejs.eventloop.delay.min",
    "nodejs.eventloop.delay.max",
    "nodejs.eventloop.delay.mean",
    "nodejs.eventloop.delay.p90",
  ]);
});

it("exports traces and metrics to a collector, the last of them when the server ends", async () => {
  const exported = new Map<string, string>();
  const collector = createServer((request, response) => {
    void text(request).then((body) => {
      const path = request.url ?? "";
      exported.set(path, (exported.get(path) ?? "") + body);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void collector.close());
  const { port } = collector.address() as AddressInfo;
  const server = await serveExample("observability/server.ts", await newFolder(), {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  const onInput: OnInput = async () => ({ action: "decline" });
  const client = await connect(server.url, { onInput });
  const { content } = await client.callTool("ship", { order: "7", parcels: 1 });
  expect(content).toEqual([{ type: "text", text: "kept" }]);
  await client.close();
  expect(await server.stop()).toEqual([0, null]);
  for (const name of ["tools/call ship", "execute_tool ship", "step pack", "weigh", "elicitation/create"])
    expect(exported.get("/v1/traces")).toContain(`"name":"${name}"`);
  expect(exported.get("/v1/metrics")).toContain('"name":"holdfast.task.creations"');
});

it("serves its metrics to Prometheus, and to nobody else", async () => {
  const env = { METRICS_TOKEN: "of-prometheus" };
  const server = await serveExample("observability/prometheus.ts", await newFolder(), env);
  const client = await connect(server.url);
  await client.callTool("resize", { image: "cat.png" });
  await client.close();
  const metrics = new URL("/metrics", server.url);
  const authorized = await fetch(metrics, { headers: { Authorization: "Bearer of-prometheus" } });
  const said = await authorized.text();
  expect(said).toMatch(/^holdfast_task_creations_total\{gen_ai_tool_name="resize",.*\} 1$/m);
  // What the dashboard asks for is what the exporter says.
  const names = [...said.matchAll(/^# TYPE (\w+) (\w+)/gm)].map(([, name = "", kind]) =>
    kind === "histogram" ? `${name}_bucket` : name,
  );
  expect(names.filter((name) => !inPrometheus.has(name) && name !== "target_info")).toEqual([]);
  expect((await fetch(metrics)).status).toBe(401);
  expect(await server.stop()).toEqual([0, null]);
});
