import { expect, it } from "vitest";
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
      rows: [
        ["1", "2"],
        ["3", ""],
      ],
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
