import { describe, expect, it } from "vitest";
import { defaultOptions, type RuntimeOptions } from "../../src/runtime/options.ts";
import { resolveOptions } from "../../src/runtime/resolve-options.ts";
import { Process, text, type Handler } from "./harness.ts";

const names = (Object.keys(defaultOptions) as (keyof RuntimeOptions)[]).filter(
  (name) => name !== "requestedTtl" && name !== "roles",
);
const limits = ["maxUnfinishedPerPrincipal", "maxUnfinished", "maxRetainedPerPrincipal", "maxRetained"];
const nullable: readonly string[] = ["ttlMs", "inputTimeoutMs", ...limits];
const fromOne: readonly string[] = [
  "maxTtlMs",
  "maxRunMs",
  "concurrency",
  "maxBodyBytes",
  "maxNesting",
  "maxNodes",
  "maxCrashes",
  "maxLeakedHandlers",
  "maxInputsPerTask",
  "maxEventsPerTask",
  "maxJournalEntries",
  "maxJournalBytes",
  "maxLogLines",
  "maxLogBytes",
  "maxOutputBlocks",
  "maxOutputBytes",
  "maxDeliveries",
  ...limits,
];
const hello: Handler = () => text("hi");

describe("options", () => {
  it("have their defaults where nothing is given, and where undefined is", () => {
    expect(resolveOptions({})).toEqual(defaultOptions);
    const nothing = Object.fromEntries(Object.keys(defaultOptions).map((name) => [name, undefined]));
    expect(resolveOptions(nothing)).toEqual(defaultOptions);
  });

  it("keep what is given, and leave out what is no option", () => {
    const odd = { concurrency: 3, ttlMs: null, other: 1 };
    expect(resolveOptions(odd)).toEqual({ ...defaultOptions, concurrency: 3, ttlMs: null });
  });

  it.each(names)("%s is a whole number that is not too small", (name) => {
    const wrong: unknown[] = [Number.NaN, Number.POSITIVE_INFINITY, 1.5, -1, 2 ** 53, "1000", true, {}];
    if (fromOne.includes(name)) wrong.push(0);
    if (name === "keepMs") wrong.push(0, 999); // no caller would get a result
    if (!nullable.includes(name)) wrong.push(null);
    if (name === "maxNesting") wrong.push(1_001); // messages are looked at by recursion
    for (const value of wrong) {
      const given = { [name]: value } as Partial<RuntimeOptions>;
      expect(() => resolveOptions(given)).toThrow(expect.objectContaining({ code: "configuration" }));
      expect(() => resolveOptions(given)).toThrow(name);
    }
    const most = name === "maxNesting" ? 1_000 : Number.MAX_SAFE_INTEGER;
    const right = name === "keepMs" ? [1_000, most] : [1, most, fromOne.includes(name) ? 2 : 0];
    if (nullable.includes(name)) right.push(null as unknown as number);
    // Where the bounds of a ttl are not looked at, they do not cross.
    const others = name === "minTtlMs" ? { maxTtlMs: Number.MAX_SAFE_INTEGER } : { minTtlMs: 0 };
    for (const value of right) {
      expect(resolveOptions({ ...others, [name]: value })).toMatchObject({ [name]: value });
    }
  });

  it("say what a ttl means that a client asks for", () => {
    expect(resolveOptions({ roles: ["work"] })).toMatchObject({ roles: ["work"] });
    for (const odd of [[], ["walk"], "work", ["work", 1], null]) {
      expect(() => resolveOptions({ roles: odd as never })).toThrow(
        expect.objectContaining({
          code: "configuration",
          message: expect.stringContaining("roles") as string,
        }),
      );
    }
    expect(resolveOptions({ requestedTtl: "task" })).toMatchObject({ requestedTtl: "task" });
    for (const odd of ["both", null, 5]) {
      expect(() => resolveOptions({ requestedTtl: odd as never })).toThrow(
        expect.objectContaining({
          code: "configuration",
          message: expect.stringContaining("requestedTtl") as string,
        }),
      );
    }
  });

  it("bound a ttl from below by no more than from above", () => {
    expect(() => resolveOptions({ minTtlMs: 5, maxTtlMs: 4 })).toThrow(
      "minTtlMs is 5 and larger than maxTtlMs",
    );
    expect(() => resolveOptions({ maxTtlMs: 999 })).toThrow(
      expect.objectContaining({ code: "configuration" }),
    );
    expect(resolveOptions({ minTtlMs: 5, maxTtlMs: 5 })).toMatchObject({ minTtlMs: 5, maxTtlMs: 5 });
  });
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
      expect(() => registering(value)).toThrow(`Tool "own": ${name} has to be a whole number`);
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
