import { expect, it } from "vitest";
import { cutText } from "../../src/task/stored-text.ts";

it("is cut to a line, between two characters", () => {
  for (const whole of ["", "x".repeat(200), "🖨".repeat(200)]) expect(cutText(whole)).toBe(whole);
  expect(cutText("🖨".repeat(201))).toBe(`${"🖨".repeat(199)}…`);
});
