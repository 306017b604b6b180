import { expect, it } from "vitest";
import { imagePart } from "../../dashboard/src/pages/task/result/result-parts.ts";
import { blocksIn, seemsMarkdown, spansIn } from "../../dashboard/src/parts/markdown/blocks.ts";

const text = (said: string) => ({ is: "paragraph", text: said });

it("reads the blocks of a report", () => {
  const report = [
    "# Sales #1",
    "First line,",
    "second line.",
    "",
    "- one",
    "  more of one",
    "- two",
    "  1. inner",
    "  2. last",
    "",
    "> quoted",
    "> > twice",
    "",
    "| a | b |",
    "|---|:-:|",
    "| 1 | 2 |",
    "| 3",
    "***",
    "```js",
    "# not a heading",
    "```",
    "The end",
  ].join("\n");
  expect(blocksIn(report)).toEqual([
    { is: "heading", level: 1, text: "Sales #1" },
    text("First line,\nsecond line."),
    {
      is: "list",
      start: null,
      items: [
        [text("one\nmore of one")],
        [text("two"), { is: "list", start: 1, items: [[text("inner")], [text("last")]] }],
      ],
    },
    { is: "quote", blocks: [text("quoted"), { is: "quote", blocks: [text("twice")] }] },
    {
      is: "table",
      head: ["a", "b"],
      rows: [["1", "2"], ["3"]],
    },
    { is: "rule" },
    { is: "code", text: "# not a heading" },
    text("The end"),
  ]);
  expect(seemsMarkdown(report)).toBe(true);
});

it("reads the marks in a text, and leaves everything else as it is", () => {
  const plain = (said: string) => ({ is: "text", text: said });
  expect(
    spansIn("a **b *c*** `d*e` [f](https://g.example) ![h](i.png) snake_case_name 2 * 3 * 4 \\*"),
  ).toEqual([
    plain("a "),
    { is: "strong", spans: [plain("b "), { is: "em", spans: [plain("c")] }] },
    plain(" "),
    { is: "code", text: "d*e" },
    plain(" "),
    { is: "link", text: "f", url: "https://g.example" },
    plain(" "),
    { is: "link", text: "h", url: "i.png" },
    plain(" snake_case_name 2 * 3 * 4 "),
    plain("*"),
  ]);
  expect(spansIn("<b>bold</b> https://x.example/a.")).toEqual([
    plain("<b>bold</b> "),
    { is: "link", text: "https://x.example/a.", url: "https://x.example/a." },
  ]);
  expect(
    spansIn("[https://bank.example](https://bank.example.evil.example/) https://b\u00e4nk.example/a"),
  ).toEqual([
    { is: "link", text: "https://bank.example.evil.example/", url: "https://bank.example.evil.example/" },
    plain(" "),
    { is: "link", text: "https://xn--bnk-qla.example/a", url: "https://b\u00e4nk.example/a" },
  ]);
  expect(spansIn("[www.bank.example](javascript:alert`1`)")).toMatchObject([
    { text: expect.stringMatching(/^javascript:.* \(not a web address: do not open it\)$/) },
  ]);
  expect(seemsMarkdown("Wrote 3 files - no problem\n* 2 * 3")).toBe(false);
});

it.each(["> ", "- ", "**", "*", "**a", "[", "`", "_", "* a\n", "| a | b |\n|---|---|\n", "#", "http://"])(
  "reads 200,000 characters of %j in a moment",
  { timeout: 20_000 },
  (piece) => {
    const long = piece.repeat(200_000 / piece.length);
    expect(blocksIn(long).length).toBeGreaterThan(0);
    for (const block of blocksIn(long)) if ("text" in block) spansIn(block.text);
    expect(spansIn(long).length).toBeGreaterThan(0);
  },
);

it("makes no more cells of a table than are in its text", () => {
  const wide = "a|".repeat(10_000);
  const [table] = blocksIn(`${wide}\n${wide.replaceAll("a", "-")}\n${"|\n".repeat(3_000)}`);
  const cells = table?.is === "table" ? table.rows.flat().length : Infinity;
  expect(cells).toBeLessThanOrEqual(6_000);
});

it("looks once through what is said to be a picture", { timeout: 20_000 }, () => {
  expect(imagePart("image/png", `${" ".repeat(300_000)}!`)).toBeUndefined();
  expect(imagePart("image/png", "AAAA\nAA==\n")).toMatchObject({ shown: "image" });
});
