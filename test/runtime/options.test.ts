import { describe, expect, it } from "vitest";
import { runtimeSettings } from "../../src/runtime/options.ts";
import { Process, text, type Handler } from "./harness.ts";

const hello: Handler = () => text("hi");

it("bounds a ttl from below by no more than from above", () => {
  expect(() => runtimeSettings({ minTtlMs: 5, maxTtlMs: 4 })).toThrow(
    "minTtlMs is 5, which is more than maxTtlMs (4).",
  );
  expect(() => runtimeSettings({ maxTtlMs: 999 })).toThrow(
    expect.objectContaining({ code: "configuration" }),
  );
  expect(runtimeSettings({ minTtlMs: 5, maxTtlMs: 5 })).toMatchObject({ minTtlMs: 5, maxTtlMs: 5 });
});

describe("a tool's own options", () => {
  it.each(["ttlMs", "maxRunMs", "inputTimeoutMs", "pollIntervalMs", "promoteAfterMs"])(
    "%s is checked when it is registered",
    (name) => {
      for (const value of [Number.NaN, -1, "1000", Number.POSITIVE_INFINITY]) {
        const tools = { odd: { config: { [name]: value }, handler: hello } };
        expect(() => new Process({ tools })).toThrow(name);
      }
      const tools = { fine: { config: { [name]: 1 }, handler: hello } };
      expect(new Process({ tools }).runtime.registry.get("fine")).toMatchObject({ [name]: 1 });
    },
  );

  it.each<[string, readonly unknown[], readonly unknown[]]>([
    ["concurrency", [0, -1, 1.5, Number.NaN, Infinity, "1", null], [1, 7, Number.MAX_SAFE_INTEGER]],
    ["priority", [0.5, Number.NaN, Infinity, "1", null], [-3, 0, 7]],
  ])("%s is a whole number", (name, wrong, right) => {
    const registering = (value: unknown) =>
      new Process({ tools: { own: { config: { [name]: value }, handler: hello } } });
    for (const value of wrong)
      expect(() => registering(value)).toThrow(`Tool "own": ${name} must be a whole number`);
    for (const value of right)
      expect(registering(value).runtime.registry.get("own")).toMatchObject({ [name]: value });
  });

  it("leave no call uncounted of a tool with a limit", () => {
    for (const direct of [{ task: "forbidden" }, { promoteAfterMs: 0 }] as const) {
      const tools = { direct: { config: { concurrency: 1, ...direct }, handler: hello } };
      expect(() => new Process({ tools })).toThrow(Object.keys(direct).join());
    }
  });

  it("of undefined are those of the server", async () => {
    const config = { ttlMs: undefined, pollIntervalMs: undefined, task: undefined, requires: undefined };
    // As JavaScript may have it: TypeScript tells an absent member from an undefined one.
    const tools = { plain: { config: config as object, handler: hello } };
    const process = await Process.started({ tools, options: { ttlMs: 7_000, pollIntervalMs: 70 } });
    const { task } = await process.call("plain");
    expect(task).toMatchObject({ expiry: { from: "created", ms: 7_000 }, pollIntervalMs: 70 });
  });
});
