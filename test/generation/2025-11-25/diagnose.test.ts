import { expect, it } from "vitest";
import { diagnose } from "../../../src/generation/2025-11-25.ts";
import { cancelled, completed, failedRequest, failedResult, working } from "./sample-view.ts";

const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", data: "", mimeType: "image/png" };

it("gives the message of the error [C-117]", () => {
  expect(diagnose(failedRequest({ code: -32603, message: "no paper", data: { tray: 2 } }))).toBe("no paper");
  expect(diagnose(failedRequest({ code: 7, message: "" }))).toBe("The request failed with code 7.");
});

it("gives the first text of a result that is an error [C-117]", () => {
  expect(diagnose(failedResult({ content: [image, text(""), text("no paper"), text("sorry")] }))).toBe(
    "no paper",
  );
});

it.each([{}, { content: [] }, { content: "no" }, { content: [null, image, { type: "text", text: 5 }] }])(
  "says something where a result such as %j does not [C-117]",
  (result) => {
    expect(diagnose(failedResult(result))).toBe("The tool answered with an error.");
  },
);

it("gives nothing where there is a text, and for tasks that did not fail", () => {
  expect(diagnose(failedResult({}, { statusMessage: "jam" }))).toBeUndefined();
  for (const view of [working(), completed({ content: [text("done")] }), cancelled()]) {
    expect(diagnose(view)).toBeUndefined();
  }
});

it("keeps what is short enough whole", () => {
  for (const whole of ["x".repeat(200), "🖨".repeat(200), `x${"🖨".repeat(199)}`]) {
    expect(diagnose(failedResult({ content: [text(whole)] }))).toBe(whole);
  }
});

it.each(["x".repeat(201), "🖨".repeat(201), `x${"🖨".repeat(5_000)}`, "y".repeat(1_000_000)])(
  "cuts what is long between two characters (%#)",
  (long) => {
    const cut = diagnose(failedResult({ content: [text(long)] })) ?? "";
    expect(Array.from(cut)).toHaveLength(200);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut.endsWith("…")).toBe(true);
    expect(long.startsWith(cut.slice(0, -1))).toBe(true);
  },
);
