import { describe, expect, it } from "vitest";
import { headerOf, ResponseParser } from "../../bench/client/response-parser.ts";

interface Parsed {
  readonly status: number;
  readonly body: string;
}

/** What a parser makes of bytes that arrive in pieces of `size`. */
function parse(text: string, size: number, onChunk?: (chunk: Buffer) => void): Parsed[] {
  const found: Parsed[] = [];
  const parser = new ResponseParser(({ status, body }) => found.push({ status, body: body.toString() }));
  parser.onChunk = onChunk;
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) parser.read(bytes.subarray(at, at + size));
  return found;
}

const withLength = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello";
const chunked =
  "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
const empty = "HTTP/1.1 202 Accepted\r\nDate: today\r\n\r\n";

describe("the parser of the load generator", () => {
  it.each([1, 2, 7, 1_000])("finds every response in pieces of %i bytes", (size) => {
    expect(parse(withLength + chunked + empty + withLength, size)).toEqual([
      { status: 200, body: "hello" },
      { status: 404, body: "hello" },
      { status: 202, body: "" },
      { status: 200, body: "hello" },
    ]);
  });

  it("passes on the chunks of a stream before it ends", () => {
    const chunks: string[] = [];
    expect(parse(chunked.slice(0, -5), 4, (chunk) => chunks.push(chunk.toString()))).toEqual([]);
    expect(chunks).toEqual(["hel", "lo"]);
  });

  it("refuses a response without a length", () => {
    expect(() => parse("HTTP/1.1 200 OK\r\n\r\nhello", 100)).toThrow("no content length");
  });

  it("finds a header by its whole name", () => {
    const head = "http/1.1 200 ok\r\nx-length: 1\r\nlength: 2";
    expect([headerOf(head, "length"), headerOf(head, "gth")]).toEqual(["2", undefined]);
  });
});
