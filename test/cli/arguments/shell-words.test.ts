import { expect, it } from "vitest";
import { quoteWord, splitWords } from "../../../src/cli/arguments/words.ts";

it.each([
  ["a1b2", "a1b2", "a1b2"],
  ["https://example.com/mcp", "https://example.com/mcp", "https://example.com/mcp"],
  [
    "https://example.com/mcp?a=b&c=d",
    "'https://example.com/mcp?a=b&c=d'",
    '"https://example.com/mcp?a=b&c=d"',
  ],
  ["C:\\work\\server.js", "'C:\\work\\server.js'", "C:\\work\\server.js"],
  ["C:\\my work\\", "'C:\\my work\\'", '"C:\\my work\\\\"'],
  ["a,b", "a,b", '"a,b"'],
  ["it's", "'it'\"'\"'s'", '"it\'s"'],
  ["b$(x)", "'b$(x)'", "'b$(x)'"],
  ['where:={"x":"it\'s"}', '\'where:={"x":"it\'"\'"\'s"}\'', "'where:={\"x\":\"it''s\"}'"],
  ["", "''", '""'],
])("quotes %j for the shells of each system", (text, elsewhere, windows) => {
  expect(quoteWord(text, "linux")).toBe(elsewhere);
  expect(quoteWord(text, "win32")).toBe(windows);
});

it.each([
  ["node server.js", ["node", "server.js"]],
  ["C:\\tools\\run.exe --db C:\\data\\ -x", ["C:\\tools\\run.exe", "--db", "C:\\data\\", "-x"]],
  ['"C:\\Program Files\\run.exe" "say \\"hi\\""', ["C:\\Program Files\\run.exe", 'say "hi"']],
  ['\\\\files\\share\\run.exe "\\\\files\\a b"', ["\\\\files\\share\\run.exe", "\\\\files\\a b"]],
  ["run.exe 'C:\\a b\\c'", ["run.exe", "C:\\a b\\c"]],
])("parts %s on Windows", (line, words) => {
  expect(splitWords(line, "win32")).toEqual(words);
});

it("parts a line elsewhere as a shell does, but keeps paths that were copied from Windows", () => {
  expect(splitWords("./run e\\ f 'g h'", "linux")).toEqual(["./run", "e f", "g h"]);
  expect(splitWords("C:\\tools\\run.exe", "linux")).toEqual(["C:\\tools\\run.exe"]);
});
