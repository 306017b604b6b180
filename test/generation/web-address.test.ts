import { expect, it } from "vitest";
import { describeQuestion } from "../../src/cli/terminal/form/question-text.ts";
import { urlsToVisit } from "../../src/cli/output/output.ts";
import { shownAddress, webAddress } from "../../src/generation/web-address.ts";
import { describeQuestion as describeToModel } from "../../src/server/plain/ticket.ts";

/** The first letter is Cyrillic. */
const lookAlike = "https://аpple.com/login";

it("shows a host in ASCII, whatever letters it is given in", () => {
  expect(shownAddress(lookAlike)).toBe("https://xn--pple-43d.com/login");
  expect(shownAddress("https://example.com/é?a=b")).toBe("https://example.com/%C3%A9?a=b");
});

it.each(["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vscode://x", "example.com", ""])(
  "takes %j for no web address, and says so",
  (text) => {
    expect(webAddress(text)).toBeUndefined();
    expect(shownAddress(text)).toBe(`${text} (not a web address: do not open it)`);
  },
);

it.each([
  [lookAlike, "https://xn--pple-43d.com/login"],
  ["javascript:alert(1)", "javascript:alert(1) (not a web address: do not open it)"],
])("is shown so wherever a server asks for a visit: %s", (url, shown) => {
  const params = { mode: "url", message: "Log in", url, elicitationId: "e" };
  expect(urlsToVisit({ code: -32042, message: "", data: { elicitations: [params] } })).toContain(
    `\n  Log in ${shown}`,
  );
  expect(describeQuestion("a", { method: "elicitation/create", params })).toBe(`a: Log in ${shown}`);
  const asked = { key: "a", method: "elicitation/create" as const, params: JSON.stringify(params) };
  expect(describeToModel(asked).text).toContain(`open this link: ${shown}\n`);
});
