import assert from "node:assert/strict";
import { HoldfastError, type FaultCode } from "../task/fault.ts";

/** Asserts that `call` rejects with a `HoldfastError` of this code. */
export async function assertRejects(call: () => Promise<unknown>, code: FaultCode): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof HoldfastError, `expected a HoldfastError, and not ${String(error)}`);
    assert.equal(error.code, code);
    return true;
  });
}
