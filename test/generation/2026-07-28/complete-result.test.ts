import { expect, it } from "vitest";
import { completeResult } from "../../../src/generation/2026-07-28.ts";

it("says complete, whatever the handler said [X-013 X-015 X-B-006]", () => {
  expect(completeResult({ content: [] })).toEqual({ content: [], resultType: "complete" });
  expect(completeResult({ content: [], resultType: "task" })).toEqual({
    content: [],
    resultType: "complete",
  });
});
