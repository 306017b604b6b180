import { createContextKey, ROOT_CONTEXT, trace as traceApi } from "@opentelemetry/api";
import { expect, it } from "vitest";
import { TaskTraces } from "../../src/runtime/telemetry/telemetry.ts";
import type { TaskRequest } from "../../src/task/record.ts";
import { contextWith } from "../../src/telemetry/spans.ts";
import { caller } from "./recorded-spans.ts";

const request: TaskRequest = {
  origin: { requestId: 1, capabilities: {}, trace: caller },
  arguments: "{}",
  prepared: null,
};

/** Traces of at most two tasks, and what was read of the store. */
function traces(read: () => Promise<TaskRequest | undefined>): { known: TaskTraces; reads: string[] } {
  const reads: string[] = [];
  const known = new TaskTraces({ request: (id) => (reads.push(id), read()) }, 2);
  return { known, reads };
}

it("reads the trace of a task once, also where it is asked for at the same time, or has none", async () => {
  const { known, reads } = traces(async () => request);
  expect(await Promise.all([known.of("a"), known.of("a")])).toEqual([caller, caller]);
  expect(known.of("a")).toBe(caller);
  const none = traces(async () => undefined);
  expect(await none.known.of("gone")).toBeUndefined();
  expect(none.known.of("gone")).toBeUndefined();
  expect([reads, none.reads]).toEqual([["a"], ["gone"]]);
});

it("forgets the oldest", async () => {
  const { known, reads } = traces(async () => request);
  for (const id of ["a", "b", "c", "d"]) known.keep(id, undefined);
  expect([known.of("c"), known.of("d")]).toEqual([undefined, undefined]);
  expect(reads).toEqual([]);
  expect(await known.of("a")).toEqual(caller);
});

it("knows no trace where the store fails, and asks it again", async () => {
  const { known, reads } = traces(async () => {
    throw new Error("The disk is full.");
  });
  expect(await known.of("a")).toBeUndefined();
  expect(await known.of("a")).toBeUndefined();
  expect(reads).toEqual(["a", "a"]);
});

it("keeps no baggage, of which callers may send a lot", async () => {
  const tracestate = "vendor=1";
  const trace = { ...caller, tracestate, baggage: `tenant=${"x".repeat(8_000)}` };
  const { known } = traces(async () => ({ ...request, origin: { ...request.origin, trace } }));
  known.keep("made", trace);
  expect(known.of("made")).toEqual({ ...caller, tracestate });
  expect(await known.of("read")).toEqual({ ...caller, tracestate });
  expect(known.of("read")).toEqual({ ...caller, tracestate });
});

it("keeps of traces that are not sampled only that", () => {
  const { known } = traces(async () => request);
  for (const id of ["1", "2"])
    known.keep(id, { traceparent: `00-${id.repeat(32)}-${id.repeat(16)}-00`, tracestate: "vendor=1" });
  expect(known.of("1")).toBe(known.of("2"));
});

it("contexts of spans share what they inherit, and change nothing above them", () => {
  const [tenant, region] = [createContextKey("tenant"), createContextKey("region")];
  const above = ROOT_CONTEXT.setValue(tenant, "acme").setValue(region, "eu");
  const span = traceApi.wrapSpanContext({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 });
  const within = contextWith(span, above);
  expect(traceApi.getSpan(within)).toBe(span);
  expect([traceApi.getSpan(above), within.getValue(tenant)]).toEqual([undefined, "acme"]);
  const below = within.setValue(tenant, "other").deleteValue(region);
  expect([tenant, region].map((key) => below.getValue(key))).toEqual(["other", undefined]);
  expect([tenant, region].map((key) => within.getValue(key))).toEqual(["acme", "eu"]);
  expect(traceApi.getSpan(traceApi.deleteSpan(below))).toBeUndefined();
});

it("begins a context within the last one as often as code does", () => {
  const [tenant, turn] = [createContextKey("tenant"), createContextKey("turn")];
  const span = traceApi.wrapSpanContext({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 });
  let context = contextWith(span, ROOT_CONTEXT.setValue(tenant, "acme"));
  for (let turns = 1; turns <= 20_000; turns++)
    context = traceApi.setSpan(context.setValue(turn, turns), span);
  expect([tenant, turn].map((key) => context.getValue(key))).toEqual(["acme", 20_000]);
  expect(context.getValue(createContextKey("none"))).toBeUndefined();
});
