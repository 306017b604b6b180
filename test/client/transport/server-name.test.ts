import { expect, it } from "vitest";
import { processName, redacted, urlName } from "../../../src/client/transport/server-name.ts";

it.each([
  ["https://example.com/mcp", "https://example.com/mcp"],
  ["https://example.com/mcp?key=s3cret", "https://example.com/mcp?key=***"],
  ["https://example.com/mcp?a=s3cret&b=&=s3cret&s3cret", "https://example.com/mcp?a=***&b=&=***&***"],
  ["https://example.com/mcp?key=a=s3cret?b#s3cret", "https://example.com/mcp?key=***"],
  ["HTTPS://${HOST}/mcp?key=${KEY:-s3cret", "HTTPS://${HOST}/mcp?key=***"],
  ["--url=http://ann:s3cret@example.com/?key=s3cret", "--url=http://***@example.com/?key=***"],
  ["https://ann:my@s3cret@example.com/a@b", "https://***@example.com/a@b"],
  ["https://example.com/a@b?region=eu&key=s3cret", "https://example.com/a@b?region=eu&key=***"],
  ["what?key=this", "what?key=this"],
])("shows of %s what may be seen", (text, shown) => {
  expect(redacted(text, (parameter) => parameter === "region")).toBe(shown);
});

const nameOf = (text: string): string => urlName(new URL(text));

it("names addresses apart whose hidden values differ, and only those", () => {
  const one = nameOf("https://example.com/mcp?key=one");
  expect(one).toMatch(/^https:\/\/example\.com\/mcp\?key=\*\*\*#[\da-f]{16}$/);
  expect(nameOf("https://example.com/mcp?key=one#part")).toBe(one);
  expect(nameOf("https://example.com/mcp?key=other")).not.toBe(one);
  expect(nameOf("https://example.com/mcp#part")).toBe("https://example.com/mcp");
  const seen = urlName(new URL("https://example.com/mcp?key=one"), () => true);
  expect(seen).toBe("https://example.com/mcp?key=one");
});

it("names processes by their command lines, apart where those hide something", () => {
  expect(processName(["node", "a b.js"])).toBe("stdio:node+a%20b.js");
  const one = processName(["npx", "mcp-remote", "https://example.com/mcp?key=one"]);
  expect(decodeURIComponent(one)).toMatch(/^stdio:npx\+mcp-remote\+https:\/\/example\.com\/mcp\?key=\*\*\*#/);
  expect(processName(["npx", "mcp-remote", "https://example.com/mcp?key=other"])).not.toBe(one);
});
