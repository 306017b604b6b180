import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CBaggagePropagator } from "@opentelemetry/core";
import { describe, expect, it, onTestFinished } from "vitest";
import type { OnInput } from "../../src/client/question/ask-user.ts";
import { isJsonObject, type JsonObject } from "../../src/generation/message.ts";
import { openTelemetry } from "../../src/telemetry/open-telemetry.ts";
import {
  acknowledged,
  approval,
  asking,
  completed,
  created,
  sent,
  taskId,
  working,
} from "../client/answers.ts";
import { discoveredHoldfast } from "../client/scripted-server.ts";
import { ScriptedStream } from "../client/scripted-stream.ts";
import { withdrawMs } from "../../src/client/task-protocol.ts";
import { setUp } from "../client/setup.ts";
import { inCallersSpan } from "./calling.ts";
import { CollectedMetrics } from "./collected-metrics.ts";
import { RecordedSpans } from "./recorded-spans.ts";

const tool = "publish_report";
const tools = { result: { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" } };

function traceIn({ params }: { readonly params: JsonObject } = { params: {} }): unknown {
  const meta = params["_meta"];
  return isJsonObject(meta) ? meta["traceparent"] : undefined;
}

describe("a client that is traced", () => {
  it("has a span for each request and wait, below the span of its caller, and tells the server", async () => {
    const spans = new RecordedSpans();
    const { server, client } = await setUp({ telemetry: spans.telemetry });
    server.script("tools/list", tools);
    server.script("tools/call", created());
    server.script("tasks/get", working({ lastUpdatedAt: "2026-10-01T00:00:02Z" }), completed());
    const { traceId, spanId } = await inCallersSpan(spans, async () => {
      await client.sdk.listTools();
      await client.callTool(tool);
    });
    expect(spans.tree(traceId, spanId)).toEqual([
      "tools/list",
      `tools/call ${tool}`,
      `wait ${tool}`,
      "  tasks/get",
      "  tasks/get",
    ]);
    for (const request of server.seen) {
      const told = String(traceIn(request));
      const name = request.method === "tools/call" ? `tools/call ${tool}` : request.method;
      const own = spans.named(name).map((span) => {
        const { traceId: ofSpan, spanId: id } = span.spanContext();
        return `00-${ofSpan}-${id}-01`;
      });
      expect(own).toContain(told);
    }
    expect(new Set(server.seen.map((request) => traceIn(request))).size).toBe(server.seen.length);
  });

  it("says of a request what it is and to whom, and of a wait how it ended", async () => {
    const spans = new RecordedSpans();
    const { server, client } = await setUp({ telemetry: spans.telemetry });
    server.script("tools/call", created());
    server.script("tasks/get", completed());
    await client.callTool(tool, { password: "hunter2" });
    const { hostname, port } = new URL(server.url);
    const peer = {
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "server.address": hostname,
      "server.port": Number(port),
      "mcp.protocol.version": "2026-07-28",
    };
    const [call] = spans.named(`tools/call ${tool}`);
    expect(call?.kind).toBe(SpanKind.CLIENT);
    expect(call?.attributes).toEqual({
      ...peer,
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "jsonrpc.request.id": server.of("tools/call")[0]?.id,
      "holdfast.task.id": taskId,
    });
    expect(spans.named("tasks/get")[0]?.attributes).toMatchObject({ ...peer, "holdfast.task.id": taskId });
    const [wait] = spans.named(`wait ${tool}`);
    expect(wait?.kind).toBe(SpanKind.INTERNAL);
    expect(wait?.attributes).toEqual({
      "gen_ai.tool.name": tool,
      "holdfast.task.id": taskId,
      "holdfast.wait.outcome": "completed",
    });
  });

  it("has one span for each repeat and each round of questions, side by side", async () => {
    const spans = new RecordedSpans();
    const onInput: OnInput = async () => {
      spans.provider.getTracer("author").startSpan("asked").end();
      return { action: "accept", content: {} };
    };
    const { server, client } = await setUp({ telemetry: spans.telemetry, onInput }, discoveredHoldfast);
    server.script(
      "tools/call",
      "reset",
      { result: { resultType: "input_required", inputRequests: { before: approval } } },
      created(),
    );
    server.script("tasks/get", asking({ approve: approval }), async () => {
      await server.sees("tasks/update", 1);
      return completed();
    });
    server.script("tasks/update", acknowledged);
    const { traceId, spanId } = await inCallersSpan(spans, async () => client.callTool(tool));
    await client.close();
    const tree = spans.tree(traceId, spanId);
    expect(tree.filter((line) => !line.startsWith("  "))).toEqual([
      `tools/call ${tool}`,
      `tools/call ${tool}`,
      "asked",
      `tools/call ${tool}`,
      `wait ${tool}`,
    ]);
    expect(tree.filter((line) => line.startsWith("  ")).toSorted()).toEqual([
      "  asked",
      "  tasks/get",
      "  tasks/get",
      "  tasks/update",
    ]);
    const [lost] = spans.named(`tools/call ${tool}`);
    expect(lost?.attributes["error.type"]).toBe("connection");
    expect(lost?.status.code).toBe(SpanStatusCode.ERROR);
  });

  it("polls for the oldest wait that goes on, to which the others are linked", async () => {
    const spans = new RecordedSpans();
    const { server, client } = await setUp({ telemetry: spans.telemetry });
    const polled = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    server.script("tools/call", created());
    server.script(
      "tasks/get",
      async () => {
        polled.resolve();
        await goesOn.promise;
        return working({ lastUpdatedAt: "2026-10-01T00:00:02Z" });
      },
      completed(),
    );
    const handle = await client.startTool(tool);
    const impatient = new AbortController();
    const first = inCallersSpan(spans, async () =>
      handle.result({ signal: impatient.signal }).catch(() => undefined),
    );
    await polled.promise;
    const second = inCallersSpan(spans, async () => handle.result());
    impatient.abort(new Error("no patience"));
    const one = await first;
    goesOn.resolve();
    const two = await second;
    expect(spans.tree(one.traceId, one.spanId)).toEqual([`wait ${tool}`, "  tasks/get"]);
    expect(spans.tree(two.traceId, two.spanId)).toEqual([`wait ${tool}`, "  tasks/get"]);
    const [left, waited] = spans.named(`wait ${tool}`);
    expect(left?.attributes["holdfast.wait.outcome"]).toBe("aborted");
    expect(left?.status.code).toBe(SpanStatusCode.UNSET);
    expect(waited?.links.map((link) => link.context.spanId)).toEqual([left?.spanContext().spanId]);
  });

  it("takes the tool of a task that was resumed from its server", async () => {
    const spans = new RecordedSpans();
    const { server, client } = await setUp({ telemetry: spans.telemetry });
    server.script("tasks/get", completed(sent, { _meta: { "holdfast/tool": "render" } }));
    const reference = { taskId, server: server.url, generation: "2026-07-28" };
    await (await client.resume(reference)).result();
    expect(spans.named("wait render")[0]?.attributes["gen_ai.tool.name"]).toBe("render");
  });

  it("listens in a trace of its own, for waits of several traces", async () => {
    const spans = new RecordedSpans();
    const { server, client, clock } = await setUp({ telemetry: spans.telemetry, listen: true });
    const stream = new ScriptedStream();
    server.script("tools/call", created());
    server.script("tasks/get", working({ lastUpdatedAt: "2026-10-01T00:00:02Z" }), completed());
    server.script("subscriptions/listen", stream);
    const { traceId } = await inCallersSpan(spans, async () => {
      const result = client.callTool(tool);
      await server.sees("subscriptions/listen", 1);
      return result;
    });
    await client.close();
    const [listening] = spans.named("subscriptions/listen");
    expect(listening?.parentSpanContext).toBeUndefined();
    expect(listening?.spanContext().traceId).not.toBe(traceId);
    expect(clock.naps.length).toBeGreaterThan(0);
  });

  it("passes on what the trace and the baggage of the caller say", async () => {
    propagation.setGlobalPropagator(new W3CBaggagePropagator());
    onTestFinished(() => propagation.disable());
    const spans = new RecordedSpans();
    const { server, client } = await setUp({ telemetry: spans.telemetry });
    server.script("tools/call", { result: sent });
    const baggage = propagation.createBaggage({ tenant: { value: "acme" } });
    await context.with(propagation.setBaggage(context.active(), baggage), async () => client.callTool(tool));
    expect(server.of("tools/call")[0]?.params["_meta"]).toMatchObject({ baggage: "tenant=acme" });
  });

  it("goes on below the trace that a request has already", async () => {
    const spans = new RecordedSpans();
    const { server, client } = await setUp({ telemetry: spans.telemetry });
    server.script("tools/list", tools);
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await client.sdk.listTools({ _meta: { traceparent, tracestate: "vendor=1" } });
    const [list] = spans.named("tools/list");
    expect(list?.parentSpanContext?.spanId).toBe("b".repeat(16));
    const id = list?.spanContext().spanId ?? "";
    expect(server.of("tools/list")[0]?.params["_meta"]).toMatchObject({
      traceparent: `00-${"a".repeat(32)}-${id}-01`,
      tracestate: "vendor=1",
    });
  });
});

describe("an end of a request", () => {
  it("is an error with its code, a tool's own, or none at all", async () => {
    const spans = new RecordedSpans({ errorText: "omit" });
    const { server, client, clock } = await setUp({ telemetry: spans.telemetry });
    server.script(
      "tools/call",
      { error: { code: -32602, message: "no such report: hunter2" } },
      { result: { resultType: "complete", ...sent, isError: true } },
      { status: 401 },
      "silence",
    );
    await expect(client.callTool("one")).rejects.toThrow();
    await client.callTool("two");
    await expect(client.callTool("three")).rejects.toThrow();
    const impatient = new AbortController();
    const fourth = client.callTool("four", {}, { signal: impatient.signal });
    await server.sees("tools/call", 4);
    impatient.abort(new Error("no patience"));
    await expect(fourth).rejects.toThrow("no patience");
    clock.passDeadlines(withdrawMs);
    const ends = ["one", "two", "three", "four"].flatMap((name) =>
      spans
        .named(`tools/call ${name}`)
        .map(({ attributes, status }) => [attributes["error.type"], status.code, status.message]),
    );
    expect(ends).toEqual([
      ["-32602", SpanStatusCode.ERROR, undefined],
      ["tool_error", SpanStatusCode.ERROR, undefined],
      ["unauthorized", SpanStatusCode.ERROR, undefined],
      [undefined, SpanStatusCode.UNSET, undefined],
    ]);
    expect(spans.named("tools/call one")[0]?.attributes["rpc.response.status_code"]).toBe("-32602");
  });

  it("is measured, with how it failed", async () => {
    const metrics = new CollectedMetrics();
    const { server, client } = await setUp({ telemetry: metrics.telemetry });
    server.script("tools/call", { result: sent }, { error: { code: -32602, message: "no" } });
    await client.callTool(tool);
    await expect(client.callTool(tool)).rejects.toThrow();
    const points = await metrics.points("mcp.client.operation.duration");
    const ofCalls = points.filter(({ attributes }) => attributes["mcp.method.name"] === "tools/call");
    expect(ofCalls).toMatchObject([
      { attributes: { "gen_ai.tool.name": tool, "network.transport": "tcp" }, value: { count: 1 } },
      { attributes: { "gen_ai.tool.name": tool, "error.type": "-32602" }, value: { count: 1 } },
    ]);
    expect(ofCalls[0]?.attributes).not.toHaveProperty("jsonrpc.request.id");
  });
});

describe("a client that is not traced", () => {
  it("sends what it sent before, also where the process has no SDK", async () => {
    const silent = openTelemetry({ tracerProvider: trace.getTracerProvider() });
    for (const options of [{}, { telemetry: silent }]) {
      const { server, client } = await setUp(options);
      server.script("tools/list", tools);
      server.script("tools/call", created());
      server.script("tasks/get", completed());
      await client.sdk.listTools();
      await client.callTool(tool);
      expect(server.seen.map((request) => traceIn(request))).toEqual(server.seen.map(() => undefined));
    }
  });
});
