import { expect, it } from "vitest";
import { cutText, errorText } from "../../src/generation/error-text.ts";

it("is the message of an error, and something where that is empty", () => {
  expect(errorText({ code: 7, message: "no paper" })).toBe("no paper");
  expect(errorText({ code: 7, message: "" })).toBe("The request failed with code 7.");
});

it("is cut to a line, between two characters", () => {
  for (const whole of ["", "x".repeat(200), "🖨".repeat(200)]) expect(cutText(whole)).toBe(whole);
  expect(cutText("🖨".repeat(201))).toBe(`${"🖨".repeat(199)}…`);
});
