import { InMemoryTransport } from "@modelcontextprotocol/client";
import { SpanStatusCode } from "@opentelemetry/api";
import { expect, it } from "vitest";
import { connectWith } from "../../src/client/connect.ts";
import { setUpCore, type CorePeer } from "../client/2025-11-25/core-peer.ts";
import { FakeClock } from "../client/fake-clock.ts";
import { inCallersSpan } from "./calling.ts";
import { RecordedSpans } from "./recorded-spans.ts";

function contextsIn(peer: CorePeer, method: string): unknown[] {
  return peer.params(method).map(({ _meta }) => _meta);
}

it("is made in a span for each request of the handshake, below the span of its caller", async () => {
  const spans = new RecordedSpans();
  const { value, traceId, spanId } = await inCallersSpan(spans, async () =>
    setUpCore({ telemetry: spans.telemetry }),
  );
  const { peer } = value;
  expect(spans.tree(traceId, spanId)).toEqual(["server/discover", "initialize"]);
  const [initialize] = spans.named("initialize");
  const { spanId: id } = initialize?.spanContext() ?? {};
  expect(contextsIn(peer, "initialize")).toMatchObject([{ traceparent: `00-${traceId}-${id}-01` }]);
  expect(initialize?.attributes).not.toHaveProperty("network.transport");
});

it("ends the spans of requests that are cancelled", async () => {
  const spans = new RecordedSpans();
  const { peer, client } = await setUpCore({ telemetry: spans.telemetry });
  peer.always("tools/list", "silence");
  const impatient = new AbortController();
  const listing = client.sdk.listTools({}, { signal: impatient.signal });
  await peer.sees("tools/list");
  impatient.abort(new Error("no patience"));
  await expect(listing).rejects.toThrow();
  await peer.sees("notifications/cancelled");
  const [list] = spans.named("tools/list");
  expect(list?.status.code).toBe(SpanStatusCode.UNSET);
});

it("ends all spans when it ends", async () => {
  const spans = new RecordedSpans();
  const [near, far] = InMemoryTransport.createLinkedPair();
  const asked = Promise.withResolvers<void>();
  far.onmessage = (message) => {
    if (!("method" in message) || !("id" in message)) return;
    const { id, method } = message;
    const serverInfo = { name: "scripted", version: "1" };
    if (method === "ping") asked.resolve();
    else if (method === "initialize") {
      const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo };
      void far.send({ jsonrpc: "2.0", id, result });
    } else void far.send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
  };
  await far.start();
  const client = await connectWith(near, { telemetry: spans.telemetry }, new FakeClock());
  const pinging = client.sdk.ping();
  await asked.promise;
  await far.close();
  await expect(pinging).rejects.toThrow();
  expect(spans.named("ping")[0]?.attributes["error.type"]).toBe("connection");
  await client.close();
});
