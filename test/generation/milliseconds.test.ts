import { expect, it } from "vitest";
import { readMilliseconds } from "../../src/generation/message.ts";

it("is no less than was asked for, and no more than a store can say", () => {
  expect(readMilliseconds(0, "ttl")).toBe(0);
  expect(readMilliseconds(0.2, "ttl")).toBe(1);
  const longest = readMilliseconds(Number.MAX_VALUE, "ttl");
  expect(new Date(Date.UTC(2100, 0) + longest).toISOString()).toMatch(/^2\d{3}-/);
});

it.each([null, -1, Infinity, Number.NaN, "5", {}, undefined])("is not %j [A-15]", (value) => {
  expect(() => readMilliseconds(value, "params.ttl")).toThrow(
    expect.objectContaining({
      code: "invalid_params",
      message: "params.ttl must be a number of milliseconds, 0 or more.",
    }),
  );
});
