import type { CallToolResult } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { showResultFor } from "../../../src/cli/output/show-content.ts";

const text = (said: string): CallToolResult["content"][number] => ({ type: "text", text: said });
const json = (value: unknown) => text(JSON.stringify(value));

const rows = [
  { name: "Ada", born: 1815, tags: ["maths", "poetry"] },
  { name: "Grace", born: 1906, note: "a note that is rather long for a narrow terminal" },
];

it("shows a list of flat objects as a table", () => {
  const structuredContent = { people: rows };
  expect(showResultFor({ content: [json(structuredContent)], structuredContent }, 100)).toEqual({
    text: [
      "name   born  tags           note",
      "Ada    1815  maths, poetry",
      "Grace  1906                 a note that is rather long for a narrow terminal",
      "",
    ].join("\n"),
    isCut: false,
  });
});

it("cuts a table to the width, and says so", () => {
  const shown = showResultFor({ content: [], structuredContent: { result: rows } }, 40);
  expect(shown.isCut).toBe(true);
  expect(shown.text.split("\n").every((line) => line.length < 40)).toBe(true);
  expect(shown.text).toContain("a note tha…");
});

it("shows the fields of each row where there are more columns than the terminal has room for", () => {
  const row = (from: number) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`field${at}`, `value ${from + at}`]));
  const shown = showResultFor({ content: [], structuredContent: { rows: [row(0), row(50)] } }, 80);
  const lines = shown.text.split("\n");
  expect(shown.isCut).toBe(false);
  expect(lines.slice(0, 2)).toEqual(["field0   value 0", "field1   value 1"]);
  expect(lines.slice(20, 22)).toEqual(["", "field0   value 50"]);
});

it("shows more rows, and more fields, than a function takes arguments", { timeout: 60_000 }, () => {
  const many = Array.from({ length: 150_000 }, (_, at) => ({ at }));
  const rowsShown = showResultFor({ content: [], structuredContent: { many } }, 80).text;
  expect(rowsShown).toMatch(/\n149998\n149999\n$/);
  const fields = Object.fromEntries(many.map(({ at }) => [`field ${at}`, at]));
  const fieldsShown = showResultFor({ content: [], structuredContent: fields }, 80).text;
  expect(fieldsShown).toMatch(/field 149999 {2}149999\n$/);
});

it("leaves out texts that only repeat it, whole or row by row, and keeps others", () => {
  const structuredContent = { result: rows };
  const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
  const content = [...rows.map(json), text("Two people were found."), image];
  const { text: shown } = showResultFor({ content, structuredContent }, 100);
  expect(shown).toMatch(/^Two people were found\.\n\[image image\/png, 3 bytes\]\n\nname   born/);
  expect(shown).not.toContain("{");
});

it("shows an object as a line for each field, of which nothing is cut", () => {
  const structuredContent = {
    conditions: "cloudy with a chance of rain towards the evening",
    temperature: 33,
    wind: null,
  };
  expect(showResultFor({ content: [json(structuredContent)], structuredContent }, 40)).toEqual({
    text: [
      "conditions   cloudy with a chance of",
      "             rain towards the evening",
      "temperature  33",
      "wind",
      "",
    ].join("\n"),
    isCut: false,
  });
});

it.each([
  ["nested", { a: { b: 1 } }, '{"a":{"b":1}}'],
  ["a list of texts", { result: [] }, '{"result":[]}'],
  ["a value that is wrapped", { result: 5 }, "5"],
  ["rows with lists of objects", { rows: [{ a: [{ b: 1 }] }] }, "[]"],
])("shows the content where the structure is no table: %s", (_, structuredContent, said) => {
  expect(showResultFor({ content: [text(said)], structuredContent }, 80)).toEqual({
    text: `${said}\n`,
    isCut: false,
  });
});

it("shows JSON where there is no content, and content where nothing is structured", () => {
  expect(showResultFor({ content: [], structuredContent: { a: { b: 1 } } }, 80).text).toBe(
    `${JSON.stringify({ a: { b: 1 } }, undefined, 2)}\n`,
  );
  expect(showResultFor({ content: [text("plain")] }, 80)).toEqual({ text: "plain\n", isCut: false });
});

it("lets no text of a server do anything to the terminal", () => {
  const evil = "\u001b[2J\u0007a\nb\u202e";
  const one = showResultFor({ content: [], structuredContent: { [evil]: evil, other: 1 } }, 80).text;
  const many = showResultFor({ content: [], structuredContent: { rows: [{ [evil]: evil }] } }, 80).text;
  for (const shown of [one, many]) expect(shown).not.toMatch(/(?!\n)\p{C}/u);
  expect(many.trimEnd().split("\n")).toHaveLength(2);
});
