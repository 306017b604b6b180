import { expect, it } from "vitest";
import { idempotencyKeyMeta, readIdempotencyKey } from "../../src/generation/extensions.ts";

const read = (key: unknown, principal: string | null): string | undefined =>
  readIdempotencyKey({ [idempotencyKeyMeta]: key }, principal);

it("is optional [A-48]", () => {
  expect(readIdempotencyKey({}, null)).toBeUndefined();
});

it("can be short where callers are told apart, and not where it alone does that [A-48]", () => {
  expect(read("order-7", "ann")).toBe("order-7");
  expect(() => read("order-7", null)).toThrow("22 to 255");
  expect(() => read("x".repeat(21), null)).toThrow(expect.objectContaining({ code: "invalid_params" }));
  expect(read("x".repeat(22), null)).toBe("x".repeat(22));
});

it.each([7, null, {}, "", "a b", "a\u0000b", "ä", "x".repeat(256)])("does not take %j [A-48]", (key) => {
  expect(() => read(key, "ann")).toThrow(expect.objectContaining({ code: "invalid_params" }));
});
