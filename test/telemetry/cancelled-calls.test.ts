import { SpanStatusCode } from "@opentelemetry/api";
import { expect, it } from "vitest";
import { text, withTasks, withoutTasks } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { RecordedSpans } from "./recorded-spans.ts";

for (const [how, config] of [
  ["has no task", { task: "forbidden" }],
  ["would get one later", { promoteAfterMs: 60_000 }],
] as const)
  it(`ends the run of a call that ${how} as cancelled, and as no error, when its client leaves`, async () => {
    const spans = new RecordedSpans();
    const begun = Promise.withResolvers<void>();
    const { http } = await serve({
      tools: (tasks) =>
        tasks.tool("ship", config, async (_, { signal }) => {
          begun.resolve();
          await new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
          return text("shipped");
        }),
      options: { telemetry: spans.telemetry },
    });
    const leaving = new AbortController();
    const capabilities = "task" in config ? withoutTasks : withTasks;
    const call = new StatelessClient(http.url).call("ship", {}, { signal: leaving.signal, capabilities });
    const left = Promise.allSettled([call]);
    await begun.promise;
    leaving.abort();
    await left;
    const { attributes, status } = await spans.ended("execute_tool ship");
    expect(attributes).toMatchObject({ "holdfast.attempt.end": "cancelled" });
    expect(status.code).toBe(SpanStatusCode.UNSET);
  });
