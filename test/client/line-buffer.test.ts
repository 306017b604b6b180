import { expect, it } from "vitest";
import { LineBuffer, NotAMessage, PipeMessages } from "../../src/client/transport/wire-messages.ts";

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

/** What is found in a text: the ids of messages, `error` for one that ends a request, and the problems. */
function foundIn(sent: string, most = 1_000): readonly unknown[] {
  return new PipeMessages(most).after(Buffer.from(sent)).map((each) => {
    if (each instanceof NotAMessage) return each.message.replace(/.*JSON-RPC: /, "");
    return "error" in each ? ["error", each.id] : "id" in each ? each.id : each.method;
  });
}

const result = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":{"a":"}{\\""}}`;
const spread = (id: number): string => JSON.stringify(JSON.parse(result(id)), undefined, 2);
const several = "a line has more than one message";
const noLine = "it is not JSON in one line";

it.each<[string, string, readonly unknown[]]>([
  ["one on each line", `${result(1)}\n\n${result(2)}\n`, [1, 2]],
  ["two on a line", `${result(1)}${result(2)}\n`, [several, 1, 2]],
  ["three on a line", `${result(1)} ${result(2)}  ${result(3)} \n`, [several, 1, several, 2, 3]],
  ["one after a log's mark", `[info] ${result(1)}\n`, ["it is not JSON", 1]],
  ["one before words", `${result(1)} done\n`, [several, 1, "it is not JSON"]],
  ["one over several lines", `${spread(1)}\n${result(2)}\n`, [noLine, ["error", 1], 2]],
  ["two over several lines", `${spread(1)}${spread(2)}\n`, [noLine, ["error", 1], noLine, ["error", 2]]],
  ["a list with lines that are JSON", '{"id":1,"result":{"a":[\n"x",\n{}\n]}}\n', [noLine, ["error", 1]]],
  ["a text that does not end, before one", `{ begun\nmore\n${result(1)}\n`, [noLine, 1]],
  ["words", "starting\n{no}\n", ["it is not JSON", "it is not JSON"]],
])("finds messages on a pipe: %s", (_, sent, expected) => {
  expect(foundIn(sent)).toEqual(expected);
});

it("keeps no more of a text over several lines than its bound", () => {
  expect(() => foundIn(`{\n${'"a":1,\n'.repeat(20)}`, 100)).toThrow(RangeError);
});
