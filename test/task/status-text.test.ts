import { expect, it } from "vitest";
import { errorOutcome, resultOutcome } from "../../src/task/outcome.ts";
import { attemptBegins, attemptFailed, endingOf } from "../../src/task/status-text.ts";

const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", data: "", mimeType: "image/png" };
const textOf = (result: object): string | undefined =>
  endingOf(resultOutcome({ ...result, isError: true })).statusMessage;

it("gives the message of an error, and something where that is empty [C-117 X-098]", () => {
  const outcome = errorOutcome({ code: -32603, message: "no paper", data: { tray: 2 } });
  expect(endingOf(outcome)).toEqual({ outcome, statusMessage: "no paper" });
  expect(endingOf(errorOutcome({ code: 7, message: "" })).statusMessage).toBe(
    "The request failed with code 7.",
  );
});

it("gives the first text of a result that is an error [C-117]", () => {
  expect(textOf({ content: [image, text(""), text("no paper"), text("sorry")] })).toBe("no paper");
});

it.each([{}, { content: [] }, { content: "no" }, { content: [null, image, { type: "text", text: 5 }] }])(
  "says something where a result such as %j does not [C-117]",
  (result) => {
    expect(textOf(result)).toBe("The tool reported an error.");
  },
);

it("says nothing of a result, which says it all", () => {
  const outcome = resultOutcome({ content: [text("done")] });
  expect(endingOf(outcome, "Attempt 2 of 3 failed: ")).toEqual({ outcome });
});

it("names the attempt before the reason", () => {
  const outcome = errorOutcome({ code: 7, message: "no paper" });
  expect(endingOf(outcome, attemptFailed(3, 3)).statusMessage).toBe("Attempt 3 of 3 failed: no paper");
});

it("replaces the failure of the last attempt, and no text of the handler", () => {
  const failed = { failures: 1, statusMessage: `${attemptFailed(1, 3)}busy` };
  expect(attemptBegins(failed, 3)).toBe("Attempt 2 of 3");
  for (const statusMessage of [null, "page 3"])
    expect(attemptBegins({ failures: 1, statusMessage }, 3)).toBeUndefined();
});

it("keeps what is short enough whole", () => {
  for (const whole of ["x".repeat(200), "🖨".repeat(200), `x${"🖨".repeat(199)}`]) {
    expect(textOf({ content: [text(whole)] })).toBe(whole);
  }
});

it.each(["x".repeat(201), "🖨".repeat(201), `x${"🖨".repeat(5_000)}`, "y".repeat(1_000_000)])(
  "cuts what is long between two characters (%#)",
  (long) => {
    const cut = textOf({ content: [text(long)] }) ?? "";
    expect(Array.from(cut)).toHaveLength(200);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut.endsWith("…")).toBe(true);
    expect(long.startsWith(cut.slice(0, -1))).toBe(true);
  },
);
