import { expect, it } from "vitest";
import { didYouMean, nearest } from "../../../src/cli/arguments/words.ts";

const tools = ["add", "greet", "publish_report", "slow_compute"];

it.each([
  ["ad", "add"],
  ["gret", "greet"],
  ["greeet", "greet"],
  ["geret", "greet"],
  ["publish-report", "publish_report"],
  ["publish", "publish_report"],
  ["slowcompute", "slow_compute"],
  ["GREET", "greet"],
])("takes %s for %s", (typed, meant) => {
  expect(nearest(typed, tools)).toBe(meant);
});

it.each(["", "x", "xyz", "delete_everything", "g".repeat(100_000)])("takes %.20s for none", (typed) => {
  expect(nearest(typed, tools)).toBeUndefined();
  expect(didYouMean(typed, tools)).toBe("");
});

it("asks whether that was meant", () => {
  expect(didYouMean("gret", tools)).toBe('Did you mean "greet"? ');
});
