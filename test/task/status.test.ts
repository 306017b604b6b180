import { expect, test } from "vitest";
import { isTerminal, statusOf, taskStates } from "../../src/task/outcome.ts";

test("only settled and cancelled are terminal", () => {
  expect(taskStates.filter(isTerminal)).toEqual(["settled", "cancelled"]);
});

test("from outside, queued and running look alike, and open inputs show", () => {
  for (const state of ["queued", "running"] as const) {
    expect(statusOf({ state, openInputs: 0 })).toBe("working");
    expect(statusOf({ state, openInputs: 1 })).toBe("input_required");
    expect(statusOf({ state, openInputs: 2 })).toBe("input_required");
  }
});

test("a finished task is what it is, whatever was left open", () => {
  for (const openInputs of [0, 1]) {
    expect(statusOf({ state: "settled", openInputs })).toBe("settled");
    expect(statusOf({ state: "cancelled", openInputs })).toBe("cancelled");
  }
});
