import { expect, test } from "vitest";
import { HoldfastError, jsonRpcCodeOf } from "../../src/task/fault.ts";

test("a fault carries its code, its data and its cause", () => {
  const cause = new Error("cause");
  const fault = new HoldfastError("too_large", "too much", { data: { limit: 1 }, cause });
  expect(fault).toBeInstanceOf(Error);
  expect(fault).toMatchObject({
    name: "HoldfastError",
    code: "too_large",
    message: "too much",
    data: { limit: 1 },
  });
  expect(fault.cause).toBe(cause);
  expect(new HoldfastError("internal", "x").data).toBeUndefined();
});

test("on the wire a mistake of the caller has its number, and all else is internal", () => {
  expect(jsonRpcCodeOf("unknown_task")).toBe(-32602);
  expect(jsonRpcCodeOf("invalid_params")).toBe(-32602);
  expect(jsonRpcCodeOf("idempotency_conflict")).toBe(-32602);
  expect(jsonRpcCodeOf("missing_capability")).toBe(-32021);
  expect(jsonRpcCodeOf("store_failed")).toBe(-32603);
  expect(jsonRpcCodeOf("fenced")).toBe(-32603);
});
