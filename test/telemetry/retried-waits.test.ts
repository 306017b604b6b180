import { expect, it } from "vitest";
import { Process, text, type Setup } from "../runtime/harness.ts";
import { caller, RecordedSpans } from "./recorded-spans.ts";

const origin = { capabilities: { elicitation: {} }, trace: caller };
const question = { message: "Ship it?", requestedSchema: { type: "object", properties: {} } } as const;

for (const [how, maxParkedFrames] of [
  ["in memory", 10],
  ["parked", 0],
] as const)
  it(`has waits once, that were over in the millisecond in which their attempt threw, where tasks wait ${how}`, async () => {
    const spans = new RecordedSpans();
    let failures = 0;
    const setup: Setup = {
      telemetry: spans.telemetry,
      options: { maxParkedFrames },
      tools: {
        ship: {
          config: { retry: { attempts: 5 } },
          handler: async (_, task) => {
            await task.elicit("approve", question);
            if (failures === 0) {
              failures++;
              throw new Error("not yet");
            }
            await task.sleep("settle down", 10);
            if (failures++ < 3) throw new Error("not yet");
            return text("shipped");
          },
        },
      },
    };
    const process = await Process.started(setup);
    const id = await process.callId("ship", { origin });
    await process.asked(id);
    await process.answer(id, "approve", { action: "accept", content: {} });
    const ended = process.ended(id);
    let isOver = false;
    void ended.then(() => (isOver = true));
    while (!isOver) await process.clock.advance(1_000);
    await process.runtime.stop();
    const waits = spans.all.map(({ name }) => name).filter((name) => !name.startsWith("execute_tool"));
    expect(waits).toEqual(["elicitation/create", "sleep"]);
  });
