import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { hrTimeToMilliseconds } from "@opentelemetry/core";
import { expect, it } from "vitest";
import { nobody, Process, text, type Setup } from "../runtime/harness.ts";
import { caller, callerSpan, callerTrace, RecordedSpans } from "./recorded-spans.ts";

const origin = { capabilities: { elicitation: {}, sampling: {} }, trace: caller };
const question = { message: "Ship it?", requestedSchema: { type: "object", properties: {} } } as const;

it("is one trace of a task that was killed, waited for an answer and went on in another process", async () => {
  const spans = new RecordedSpans();
  const hanging = Promise.withResolvers<void>();
  let crashes = true;
  const setup: Setup = {
    telemetry: spans.telemetry,
    tools: {
      ship: async (_, task) => {
        await task.step("build", () => spans.provider.getTracer("author").startSpan("compile").end());
        await task.step(["test", "unit"], async () => {
          if (!crashes) return;
          hanging.resolve();
          await new Promise(() => undefined);
        });
        await task.elicit("approve", question);
        await task.sleep("settle down", 1_000);
        return text("shipped");
      },
    },
  };
  const first = await Process.started(setup);
  const id = await first.callId("ship", { origin });
  await hanging.promise;
  crashes = false;
  const second = await first.crash(setup);
  await second.asked(id);
  await second.answer(id, "approve", { action: "accept", content: {} });
  await second.journalHas(id, "settle down");
  await second.clock.advance(1_000);
  await second.ended(id);
  await second.runtime.stop();
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "step build",
    "  compile",
    "execute_tool ship: lost",
    "step test",
    "elicitation/create",
    "sleep",
    "execute_tool ship: settled",
  ]);
});

it("has a wait that lasted through several processes once, with the times of the journal", async () => {
  const spans = new RecordedSpans();
  const setup: Setup = {
    telemetry: spans.telemetry,
    options: { maxParkedFrames: 0 },
    tools: { ask: async (_, task) => text((await task.elicit("approve", question)).action) },
  };
  const first = await Process.started(setup);
  const begunAt = first.clock.now();
  const id = await first.callId("ask", { origin });
  await first.until(id, ({ task }) => task.state === "queued");
  const second = await first.restart(setup);
  await second.clock.advance(60_000);
  await second.answer(id, "approve", { action: "accept", content: {} });
  await second.ended(id);
  const [asked, ...more] = spans.named("elicitation/create");
  expect(more).toEqual([]);
  expect(asked?.kind).toBe(SpanKind.CLIENT);
  expect(asked?.attributes).toMatchObject({ "holdfast.task.id": id, "holdfast.journal.key": "approve" });
  expect(asked && hrTimeToMilliseconds(asked.startTime)).toBe(begunAt);
  expect(asked && hrTimeToMilliseconds(asked.endTime)).toBe(begunAt + 60_000);
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "execute_tool ask: parked",
    "elicitation/create",
    "execute_tool ask: settled",
  ]);
});

it("has what a called tool does below the call, and not below the attempt", async () => {
  const spans = new RecordedSpans();
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      above: async (_, task) => text(JSON.stringify(await task.call("it", "below", {}))),
      below: async (_, task) => text(await task.step("work", () => "done")),
    },
  });
  await process.ended(await process.callId("above", { origin }));
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "call_tool below",
    "  step work",
    "  execute_tool below: settled",
    "execute_tool above: settled",
  ]);
});

it("keeps steps below the spans that the author has opened around them", async () => {
  const spans = new RecordedSpans();
  const author = spans.provider.getTracer("author");
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      phased: (_, task) =>
        author.startActiveSpan("phase", async (phase) => {
          await task.step("inside", () => undefined);
          phase.end();
          return text("done");
        }),
    },
  });
  await process.ended(await process.callId("phased", { origin }));
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "execute_tool phased: settled",
    "  phase",
    "    step inside",
  ]);
});

it("says how each try of a step and each run of a handler failed, and which ran again", async () => {
  const spans = new RecordedSpans();
  let runs = 0;
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      flaky: {
        config: { retry: { attempts: 2 } },
        handler: async (_, task) => {
          let tries = 0;
          await task.step("fetch", { retries: 1 }, () => {
            if (tries++ > 0) return;
            throw Object.assign(new Error("no route to db-1"), { code: "EHOSTUNREACH" });
          });
          if (runs++ === 0) throw new RangeError("too far");
          return { ...text("no"), isError: true };
        },
      },
    },
  });
  const id = await process.callId("flaky", { origin });
  await process.journalHas(id, "fetch");
  await process.clock.advance(60_000);
  await process.until(id, ({ task }) => task.failures > 0);
  await process.clock.advance(60_000);
  await process.ended(id);
  const said = spans.all.map(({ name, attributes, status, events }) => [
    name,
    attributes["error.type"],
    attributes["holdfast.attempt.end"],
    status.message,
    events.length,
  ]);
  expect(said).toEqual([
    ["step fetch", "EHOSTUNREACH", undefined, "no route to db-1", 1],
    ["step fetch", undefined, undefined, undefined, 0],
    ["execute_tool flaky", "RangeError", "retried", "too far", 1],
    ["execute_tool flaky", "tool_error", "failed", undefined, 0],
  ]);
});

it("leaves the texts of errors out where it is told to", async () => {
  const spans = new RecordedSpans({ errorText: "omit" });
  const fails = (): never => {
    throw new TypeError("card 4111 1111 1111 1111");
  };
  const process = await Process.started({ telemetry: spans.telemetry, tools: { fails } });
  await process.ended(await process.callId("fails", { origin }));
  const [attempt] = spans.all;
  expect(attempt?.attributes["error.type"]).toBe("TypeError");
  expect(attempt?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(attempt?.events).toEqual([]);
});

it("has a run that is answered directly, with the steps of it", async () => {
  const spans = new RecordedSpans();
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      quick: {
        config: { promoteAfterMs: 1_000 },
        handler: () => text("quick"),
      },
    },
  });
  const { signal } = new AbortController();
  await process.runtime.call({ ...nobody, tool: "quick", arguments: {}, origin }, signal);
  await process.runInline("quick");
  const [promotable, inline] = spans.named("execute_tool quick");
  expect(promotable?.parentSpanContext?.spanId).toBe(callerSpan);
  expect(inline?.parentSpanContext).toBeUndefined();
  expect(inline?.attributes).not.toHaveProperty("holdfast.task.id");
});

it("ends the span of a handler whose task was cancelled, also where the handler goes on", async () => {
  const spans = new RecordedSpans();
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      heeds: (_, task) =>
        new Promise((_resolve, reject) => {
          task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
        }),
      deaf: () => new Promise(() => undefined),
    },
  });
  const ids = [await process.callId("heeds", { origin }), await process.callId("deaf", { origin })];
  for (const id of ids) await process.cancel(id);
  const core = { ...nobody, generation: "2025-11-25" } as const;
  const ended = await process.callId("heeds", { ...core, origin });
  await process.runtime.cancelNow(ended, core);
  for (let round = 0; round < 4; round++) await process.clock.advance(5_000);
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "execute_tool heeds: cancelled",
    "execute_tool heeds: cancelled",
    "execute_tool deaf: lost",
  ]);
  await process.runtime.stop();
});

it("has the steps of a task whose request nothing traced below the span of its run", async () => {
  const spans = new RecordedSpans();
  const setup: Setup = {
    telemetry: spans.telemetry,
    tools: {
      ship: async (_, task) => {
        await task.step("build", () => undefined);
        return text("shipped");
      },
    },
  };
  const process = await Process.started(setup);
  await process.ended(await process.callId("ship"));
  await process.runtime.stop();
  const [run] = spans.named("execute_tool ship");
  expect(spans.tree(run?.spanContext().traceId ?? "")).toEqual([
    "execute_tool ship: settled",
    "  step build",
  ]);
});

it("makes no spans of a task whose trace its caller has left out, and goes on in that", async () => {
  const spans = new RecordedSpans();
  const seen: unknown[] = [];
  const process = await Process.started({
    telemetry: spans.telemetry,
    tools: {
      quiet: async (_, task) => {
        await task.step("look", () => void seen.push(trace.getActiveSpan()?.spanContext()));
        return text("done");
      },
    },
  });
  const traceparent = caller.traceparent.replace(/01$/, "00");
  await process.ended(await process.callId("quiet", { origin: { ...origin, trace: { traceparent } } }));
  expect(spans.all).toEqual([]);
  expect(seen).toMatchObject([{ traceId: callerTrace, spanId: callerSpan, traceFlags: 0 }]);
});
