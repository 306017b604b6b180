import { expect, test } from "vitest";
import { errorOutcome, resultOutcome } from "../../src/task/outcome.ts";

test("a result with isError true is of a kind of its own", () => {
  expect(resultOutcome({ isError: true }).kind).toBe("error_result");
  expect(resultOutcome({ isError: false }).kind).toBe("result");
  expect(resultOutcome({ isError: "true" }).kind).toBe("result");
});

test("a result and an error become raw JSON of their kind", () => {
  expect(resultOutcome({ b: 1, a: [] })).toEqual({ kind: "result", body: '{"b":1,"a":[]}' });
  expect(errorOutcome({ code: -32603, message: "no", data: { why: 1 } })).toEqual({
    kind: "error",
    body: '{"code":-32603,"message":"no","data":{"why":1}}',
  });
});
