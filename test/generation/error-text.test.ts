import { expect, it } from "vitest";
import { errorText } from "../../src/generation/message.ts";

it("is the message of an error, and something where that is empty", () => {
  expect(errorText({ code: 7, message: "no paper" })).toBe("no paper");
  expect(errorText({ code: 7, message: "" })).toBe("The request failed with code 7.");
});
