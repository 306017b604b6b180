import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SpanKind, type Attributes } from "@opentelemetry/api";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks, TaskCallError } from "holdfast";
import { connect, type OnInput } from "holdfast/client";
import { serveHttp } from "holdfast/http";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { attribute } from "../../src/telemetry/spans.ts";
import { metric } from "../../src/telemetry/metric.ts";
import { openTelemetry } from "../../src/telemetry/open-telemetry.ts";
import { temporaryFolder } from "../server/durable-server.ts";
import { CollectedMetrics } from "./collected-metrics.ts";
import { RecordedSpans } from "./recorded-spans.ts";

const guide = await readFile(new URL("../../docs/reference/telemetry.md", import.meta.url), "utf8");

/** The rows of the table below a heading. */
function tableBelow(heading: string): string[][] {
  const [, below = ""] = guide.split(new RegExp(`^#+ ${heading}$`, "m"));
  const rows = below.slice(below.indexOf("\n|") + 1).split(/\n(?!\|)/, 1)[0] ?? "";
  const cells = rows.split("\n").map((row) => row.split("|").slice(1, -1));
  return cells.slice(2).map((row) => row.map((cell) => cell.trim()));
}

function names(cell = ""): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
}

it("lists every attribute", () => {
  const listed = tableBelow("Attributes").flatMap(([name]) => names(name));
  expect(listed.toSorted()).toEqual(Object.values(attribute).toSorted());
});

it("lists every metric as it is", () => {
  const listed = tableBelow("Metrics").map(([name, kind, unit, description]) => ({
    name: names(name)[0],
    kind,
    unit: names(unit)[0],
    description,
  }));
  const made = Object.values(metric).map(({ name, kind, unit, description }) => ({
    name,
    kind,
    unit,
    description,
  }));
  const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }): number =>
    String(a.name).localeCompare(String(b.name));
  expect(listed.toSorted(byName)).toEqual(made.toSorted(byName));
});

/** What a server and its client tell of calls, questions, waits, failures and refusals. */
async function observed(): Promise<{ spans: RecordedSpans; metrics: CollectedMetrics }> {
  const spans = new RecordedSpans();
  const metrics = new CollectedMetrics();
  const telemetry = openTelemetry({ tracerProvider: spans.provider, meterProvider: metrics.provider });
  const tasks = createTasks({
    store: sqliteStore(join(await temporaryFolder(), "tasks.db")),
    telemetry,
    pollIntervalMs: 10,
    rates: { pollsPerInterval: null, maxLoopDelayMs: null },
  });
  const requestedSchema = { type: "object", properties: {} } as const;
  tasks.tool("ship", { requires: ["elicitation"] }, async (_, task) => {
    let tries = 0;
    await task.step(["pack", 1], { retries: 1, backoff: { firstMs: 1 } }, () => {
      if (tries++ === 0) throw new Error("no box");
    });
    await task.elicit("approve", { message: "Ship it?", requestedSchema });
    await task.sleep("rest", 1);
    await task.waitForEvent("paid", "payment", { timeoutMs: 1 }).catch(() => undefined);
    await task.call("label", "fail", {}).catch((error: unknown) => {
      if (!(error instanceof TaskCallError)) throw error;
    });
    return { content: [{ type: "text", text: "shipped" }] };
  });
  tasks.tool("fail", {}, () => {
    throw new Error("no printer");
  });
  const server = new URL(
    (
      await serveHttp(
        tasks.server(() => {
          const author = new McpServer({ name: "harbour", version: "1.0.0" });
          author.registerPrompt("greet", {}, () => ({ messages: [] }));
          return author;
        }),
        { port: 0, authenticate: async ({ headers }) => headers.get("authorization") ?? undefined },
      ).then((http) => {
        onTestFinished(() => http.close());
        return http;
      })
    ).url,
  );
  await fetch(server, { method: "POST", body: "{}" }); // without a token
  const onInput: OnInput = async () => ({ action: "accept", content: {} });
  const client = await connect(server, { telemetry, token: "ann", onInput, listen: false, pollFloorMs: 1 });
  onTestFinished(() => client.close());
  await client.callTool("ship", {});
  await client.callTool("fail", {}).catch(() => undefined);
  await client.sdk.getPrompt({ name: "greet" });
  const { reference } = await client.startTool("fail", {});
  expect(reference).not.toBeNull();
  if (reference !== null)
    await client.resume({ ...reference, taskId: "no such task" }).catch(() => undefined);
  await client.close();
  return { spans, metrics };
}

it("lists what a server and its client tell, and what they tell is listed", async () => {
  const { spans, metrics } = await observed();

  const rows = tableBelow("Spans").map(([span, kind, , attributes]) => ({
    forms: names(span).map((name) => new RegExp(`^${name.replace(/\b[A-Z]+\b/g, "[\\w/-]+")}$`)),
    kind,
    attributes: names(attributes),
    seen: false,
  }));
  for (const { name, kind, attributes } of spans.all) {
    const row = rows.find(
      ({ forms, kind: ofKind }) => ofKind === SpanKind[kind] && forms.some((form) => form.test(name)),
    );
    expect([name, row?.attributes]).toEqual([name, expect.arrayContaining(Object.keys(attributes))]);
    if (row !== undefined) row.seen = true;
  }
  expect(rows.filter(({ seen }) => !seen)).toEqual([]);

  const listed = new Map(
    tableBelow("Metrics").map(([name, , , , attributes]) => [names(name)[0] ?? "", names(attributes)]),
  );
  const missing: Attributes[] = [];
  for (const { descriptor, dataPoints } of await metrics.all()) {
    const known = listed.get(descriptor.name) ?? [];
    for (const { attributes } of dataPoints) {
      if (!Object.keys(attributes).every((name) => known.includes(name)))
        missing.push({ ...attributes, metric: descriptor.name });
    }
  }
  expect(missing).toEqual([]);
});
