import { describe, expect, it } from "vitest";
import { NonRetryableError } from "../../src/runtime/tool/non-retryable-error.ts";
import type { StepOptions } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

/** A tool of one step that throws what `failures` says, one after the other, and then returns how often it was run. */
function flaky(options: StepOptions, failures: readonly unknown[], seen: number[] = []): Handler {
  return async (_, task) => {
    const runs = await task.step("get", options, () => {
      const { length } = seen;
      seen.push(length);
      if (length < failures.length) throw failures[length];
      return length + 1;
    });
    return text(`after ${runs}`);
  };
}

const busy = new Error("busy");

async function started(handler: Handler): Promise<{ process: Process; id: string }> {
  const process = await Process.started({ tools: { flaky: handler } });
  return { process, id: await process.callId("flaky") };
}

function failedWith(message: string): object {
  return { isError: true, content: [{ type: "text", text: message }] };
}

describe("a step that is retried", () => {
  it("pauses as its backoff says, of which half at most is taken off", async () => {
    const backoff = { firstMs: 100, factor: 3, maxMs: 500 };
    const seen: number[] = [];
    const { process, id } = await started(
      flaky(
        { retries: 3, backoff },
        Array.from({ length: 3 }, () => busy),
        seen,
      ),
    );
    for (const [index, ms] of [100, 300, 500].entries()) {
      await process.clock.advance(ms / 2 - 1);
      expect(seen).toHaveLength(index + 1);
      await process.clock.advance(ms / 2 + 1);
      expect(seen).toHaveLength(index + 2);
    }
    expect(bodyOf(await process.ended(id))).toEqual(text("after 4"));
  });

  it("is not run again after what retryIf refuses", async () => {
    const retryIf = (error: unknown): boolean => error === busy;
    const failures = [busy, new Error("gone"), busy];
    const { process, id } = await started(flaky({ retries: 9, retryIf }, failures));
    await process.clock.advance(60_000);
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("gone"));
  });

  it("is not run again where retryIf throws, which is reported", async () => {
    const mistake = new TypeError("no code");
    const retryIf = (): boolean => {
      throw mistake;
    };
    const { process, id } = await started(flaky({ retries: 9, retryIf }, [busy]));
    expect(bodyOf(await process.ended(id))).toEqual(failedWith("busy"));
    expect(process.errors).toEqual([mistake]);
  });

  it.each([
    ["of this class", new NonRetryableError("gone")],
    ["of a class of its own", new (class Gone extends NonRetryableError {})("gone")],
    ["of another copy of it", Object.assign(new Error("gone"), { name: "NonRetryableError" })],
  ])("is not run again after a NonRetryableError %s, which a replay throws again", async (_, error) => {
    const thrown: unknown[] = [];
    const handler: Handler = async (_args, task) => {
      await task
        .step("get", { retries: 9 }, () => Promise.reject(error))
        .catch((e: unknown) => thrown.push(e));
      await task.sleep("nap", 60_000);
      return text("caught");
    };
    const process = await Process.started({ tools: { final: handler }, options: { maxParkedFrames: 0 } });
    const id = await process.callId("final");
    await process.clock.advance(60_000);
    expect(bodyOf(await process.ended(id))).toEqual(text("caught"));
    expect(thrown).toHaveLength(2);
    for (const one of thrown) {
      expect(one).toBeInstanceOf(NonRetryableError);
      expect(one).toMatchObject({ name: "NonRetryableError", message: "gone" });
    }
  });
});

it.each<[StepOptions, string]>([
  [{ retries: -1 }, "retries has to be a whole number"],
  [{ retries: 1.5 }, "retries has to be a whole number"],
  [{ timeoutMs: Number.NaN }, "timeoutMs has to be a number"],
  [{ backoff: { firstMs: -1 } }, "firstMs has to be a number of at least 0"],
  [{ backoff: { factor: 0.5 } }, "factor has to be a number of at least 1"],
  [{ backoff: { firstMs: 10, maxMs: 5 } }, "maxMs is 5 and smaller than firstMs"],
  [{ backoff: { first: 10 } as never }, "Did you mean firstMs?"],
  [{ backoff: 5 as never }, "not number"],
  [{ retryIf: true as never }, "retryIf has to be a function"],
  [{ retrys: 1 } as never, "Did you mean retries?"],
])("refuses %j, and says why", async (options, message) => {
  const { process, id } = await started(flaky(options, []));
  expect(bodyOf(await process.ended(id))).toMatchObject({ message: expect.stringContaining(message) });
});
