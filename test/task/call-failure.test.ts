import { expect, it } from "vitest";
import { callEndOf, errorOutcome, errorResult, resultOutcome } from "../../src/task/outcome.ts";

it("ends a call with the outcome of its task, as it was stored", () => {
  const odd = { kind: "result", body: '{ "content": [],  "n": 1.0 }' } as const;
  expect(callEndOf(odd, false)).toEqual({ value: odd.body, error: null });
  expect(callEndOf(resultOutcome({ content: [] }), false)).toEqual({ value: '{"content":[]}', error: null });
});

it.each([
  [errorResult("no"), false, { reason: "failed", result: { isError: true } }],
  [errorOutcome({ code: 1, message: "m" }), false, { reason: "failed", error: { code: 1, message: "m" } }],
  [errorOutcome({ code: 1, message: "m" }), true, { reason: "expired", error: { code: 1, message: "m" } }],
  [null, false, { reason: "cancelled" }],
])("says how a call failed: %j", (outcome, expired, failure) => {
  const { value, error } = callEndOf(outcome, expired);
  expect(value).toBeNull();
  expect(JSON.parse(error ?? "")).toMatchObject(failure);
});
