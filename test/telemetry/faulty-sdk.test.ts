import { TracerProvider, type SpanProcessor } from "@opentelemetry/sdk-trace";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { expect, it } from "vitest";
import { connect } from "../../src/client/connect.ts";
import { openTelemetry } from "../../src/telemetry/open-telemetry.ts";
import { Process, text } from "../runtime/harness.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { caller, RecordedSpans } from "./recorded-spans.ts";

const fail = (): never => {
  throw new Error("a processor of its user's");
};
const processor = (of: Partial<SpanProcessor>): SpanProcessor => ({
  onStart: () => undefined,
  onEnd: () => undefined,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
  ...of,
});

for (const at of ["onStart", "onEnd"] as const)
  it(`answers calls and ends tasks where what processes spans throws in ${at}`, async () => {
    const tracerProvider = new TracerProvider({ spanProcessors: [processor({ [at]: fail })] });
    const telemetry = openTelemetry({ tracerProvider });
    const { http } = await serve({
      tools: (tasks) => {
        tasks.tool("ship", {}, async (_, task) => {
          await task.step("build", () => undefined);
          return text("shipped");
        });
        tasks.tool("add", { task: "forbidden" }, () => text("42"));
      },
      options: { telemetry },
    });
    const peer = new StatelessClient(http.url);
    const id = await peer.start("ship", {}, { meta: caller });
    expect(await peer.ended(id)).toMatchObject({ status: "completed" });
    const client = await connect(http.url, { telemetry });
    expect(await client.callTool("add")).toMatchObject({ content: [{ text: "42" }] });
    expect(await client.callTool("ship")).toMatchObject({ content: [{ text: "shipped" }] });
    await client.close();
  });

it("runs tasks where a meter throws", async () => {
  const meter = new MeterProvider().getMeter("holdfast");
  meter.createCounter = () => ({ add: fail });
  meter.createHistogram = () => ({ record: fail });
  const telemetry = openTelemetry({ meterProvider: { getMeter: () => meter } });
  const process = await Process.started({ telemetry, tools: { ship: () => text("shipped") } });
  const id = await process.callId("ship");
  expect(await process.ended(id)).toMatchObject({ task: { state: "settled" } });
  await process.runtime.stop();
});

it("traces steps whose keys look like lists, and are none", async () => {
  const spans = new RecordedSpans();
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      ship: async (_, task) => {
        await task.step("[draft] build", () => undefined);
        await task.step("[]", () => undefined);
        await task.step(["test", 1], () => undefined);
        return text("shipped");
      },
    },
  });
  const id = await process.callId("ship");
  expect(await process.ended(id)).toMatchObject({ outcome: { kind: "result" } });
  await process.runtime.stop();
  const names = spans.all.map(({ name }) => name).filter((name) => name.startsWith("step"));
  expect(names).toEqual(["step [draft] build", "step []", "step test"]);
});
