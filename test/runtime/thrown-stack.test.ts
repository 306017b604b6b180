import { expect, it } from "vitest";
import { thrownStack } from "../../src/runtime/tool/tool-errors.ts";

function withStack(stack: unknown, cause?: unknown): Error {
  return Object.defineProperty(new Error("no", { cause }), "stack", { value: stack });
}

it("has the stacks of causes, which may go round in a circle", () => {
  const inner = withStack("Error: inner");
  const outer = withStack("Error: outer", inner);
  expect(thrownStack(outer)).toBe("Error: outer\ncaused by: Error: inner");
  inner.cause = outer;
  expect(thrownStack(outer)?.split("\ncaused by: ")).toHaveLength(10);
});

it("throws for nothing that authors throw", () => {
  const odd = Object.defineProperty(new Error("no"), "stack", {
    get: () => {
      throw new Error("a getter");
    },
  });
  for (const thrown of [undefined, null, "text", {}, odd, withStack(undefined)])
    expect(thrownStack(thrown)).toBeUndefined();
  expect(thrownStack(withStack("Error: outer", odd))).toBe("Error: outer");
  // Together they are longer than a string may be.
  const longest = "x".repeat(2 ** 28);
  expect(thrownStack(withStack(longest, withStack(longest)))?.length).toBeLessThan(100_000);
});
