import { expect, test } from "vitest";
import { HoldfastError, isFault, jsonRpcCodeOf } from "../../src/task/fault.ts";

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
  expect(jsonRpcCodeOf("finished")).toBe(-32602);
  expect(jsonRpcCodeOf("missing_capability")).toBe(-32021);
  expect(jsonRpcCodeOf("store_failed")).toBe(-32603);
  expect(jsonRpcCodeOf("fenced")).toBe(-32603);
});

test("how a tool's own work went is no fault, and neither is what is not ours", () => {
  expect(isFault(new HoldfastError("not_json", "x"))).toBe(true);
  expect(isFault(new HoldfastError("input_timeout", "x"))).toBe(true);
  expect(isFault(new HoldfastError("step_timeout", "x"))).toBe(false);
  expect(isFault(new HoldfastError("input_failed", "x"))).toBe(false);
  expect(isFault(new Error("x"))).toBe(false);
});
