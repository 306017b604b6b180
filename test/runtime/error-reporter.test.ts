import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { errorReporter } from "../../src/runtime/error-reporter.ts";
import { Registry } from "../../src/runtime/tool/registry.ts";
import { resolveSdkV1Options } from "../../src/sdk-v1/options.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, nobody, text } from "./harness.ts";
import { Failing, watchedStore } from "./watched-store.ts";

const printed: unknown[][] = [];
beforeEach(() => {
  printed.length = 0;
  vi.spyOn(console, "error").mockImplementation((...line) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const failing: [string, (error: unknown) => unknown][] = [
  [
    "throws",
    () => {
      throw new Error("log is full");
    },
  ],
  ["rejects", () => Promise.reject(new Error("log is full"))],
];

it.each(failing)("an onError that %s is passed over, and both errors are printed", async (_, onError) => {
  const error = new Error("disk is full");
  errorReporter(onError)(error);
  await rest();
  expect(printed[0]).toEqual(["holdfast:", error]);
  expect(printed[1]?.map(String).join(" ")).toContain("log is full");
});

it.each(failing)("an onError that %s costs no task", async (_, onError) => {
  const registry = new Registry();
  registry.add("tool", {}, () => text("done"));
  const clock = new FakeClock();
  const store = watchedStore(memoryStore(), new Failing("settle").before);
  const runtime = createRuntime({ store, registry, clock, onError });
  await runtime.start();
  const call = { ...nobody, tool: "tool", arguments: {}, origin: { capabilities: {} } };
  const { task } = await runtime.create(call);
  await clock.advance(10_000);
  expect(bodyOf(await runtime.get(task.id, nobody))).toEqual(text("done"));
  await runtime.stop();
});

it("a store of SDK v1 takes one too", () => {
  const { onError } = resolveSdkV1Options({
    store: memoryStore(),
    onError: () => {
      throw new Error("log is full");
    },
  });
  onError(new Error("disk is full"));
  expect(printed).toHaveLength(2);
});
