import { expect, it } from "vitest";
import { LineBuffer } from "../../src/client/transport/wire-messages.ts";

const text = '\uFEFF{"a":"ä€😀"}\r\n\n{"b":1}\nrest';

it.each([1, 2, 3, 5, 100])("finds the same lines in pieces of %i bytes", (size) => {
  const lines = new LineBuffer(100);
  const bytes = Buffer.from(`${text}\n`);
  const found: string[] = [];
  for (let at = 0; at < bytes.length; at += size) found.push(...lines.after(bytes.subarray(at, at + size)));
  expect(found).toEqual(['{"a":"ä€😀"}', "", '{"b":1}', "rest"]);
});

it("keeps no more of a line than its bound, and begins anew after each line", () => {
  const lines = new LineBuffer(4);
  expect(lines.after(Buffer.from("abcd\nab"))).toEqual(["abcd"]);
  expect(lines.after(Buffer.from("cd\n"))).toEqual(["abcd"]);
  expect(() => lines.after(Buffer.from("abcde"))).toThrow(RangeError);
});
