import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { samplerFrom } from "./sampler.ts";
import { EverythingServer } from "../conformance/everything-server.ts";
import { RawClient, withTasks } from "../conformance/raw-client.ts";

function started(env: Readonly<Record<string, string>>): EverythingServer {
  const server = new EverythingServer({ env });
  onTestFinished(async () => void (await server.stop("SIGKILL")));
  return server;
}

/** What a collector was sent, by path. */
async function collector(): Promise<{ readonly url: string; readonly sent: Map<string, string[]> }> {
  const sent = new Map<string, string[]>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const path = request.url ?? "";
      sent.set(path, [...(sent.get(path) ?? []), body]);
      response.setHeader("Content-Type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

describe("telemetry of the everything server", { timeout: 60_000 }, () => {
  it("serves metrics to its operators only", async () => {
    const url = await started({ EVERYTHING_ADMIN_TOKEN: "0perator" }).url;
    const client = new RawClient(url, withTasks);
    await client.until(await client.start("failing_job"));
    const asked = (token: string): Promise<Response> =>
      fetch(new URL("/metrics", url), { headers: { Authorization: `Bearer ${token}` } });
    const answer = await asked("0perator");
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const metrics = await answer.text();
    expect(metrics).toMatch(/^holdfast_task_duration_seconds_count\{gen_ai_tool_name="failing_job",.*\} 1$/m);
    expect(metrics).toMatch(/^holdfast_queue_age_seconds\{.*\} 0$/m);
    expect((await asked("other")).status).toBe(401);
    expect((await fetch(new URL("/metrics", url))).status).toBe(401);
  });

  it("has no metrics where there are no operators", async () => {
    const url = await started({}).url;
    expect((await fetch(new URL("/metrics", url), { headers: { Authorization: "Bearer x" } })).status).toBe(
      404,
    );
  });

  it("exports traces and metrics, the last of them as it stops", async () => {
    const { url, sent } = await collector();
    const server = started({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: "shipping" });
    const client = new RawClient(await server.url, withTasks);
    await client.until(await client.start("failing_job"));
    expect(await server.stop()).toMatchObject({ code: 0, stderr: "" });
    const spans = (sent.get("/v1/traces") ?? []).join("\n");
    expect(spans).toContain('"name":"execute_tool failing_job"');
    expect(spans).toContain('"stringValue":"shipping"');
    expect((sent.get("/v1/metrics") ?? []).join("\n")).toContain('"name":"holdfast.task.duration"');
  });

  it("leaves out the traces that its sampler leaves out, and refuses one that there is not", async () => {
    const { url, sent } = await collector();
    const exporting = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
    const server = started({
      ...exporting,
      OTEL_TRACES_SAMPLER: "traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0",
    });
    const client = new RawClient(await server.url, withTasks);
    await client.until(await client.start("failing_job"));
    expect((await server.stop()).code).toBe(0);
    expect(sent.get("/v1/traces")).toBeUndefined();
    expect(sent.get("/v1/metrics")).toBeDefined();
    expect(() => samplerFrom({ OTEL_TRACES_SAMPLER: "sometimes" })).toThrow(
      /OTEL_TRACES_SAMPLER is "sometimes"/,
    );
    expect(() => samplerFrom({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" })).toThrow(
      /OTEL_TRACES_SAMPLER_ARG is "2"/,
    );
  });

  it("stops in time where nobody takes what it exports", async () => {
    const server = started({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
    const client = new RawClient(await server.url, withTasks);
    await client.until(await client.start("failing_job"));
    const since = performance.now();
    expect((await server.stop()).code).toBe(0);
    expect(performance.now() - since).toBeLessThan(10_000);
  });
});
