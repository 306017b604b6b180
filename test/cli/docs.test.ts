import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { llmsTexts } from "../../scripts/build/pages.ts";
import { markdownText, sectionsOf } from "../../src/cli/command/docs.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

it("lists the pages by part, and prints one as it is to a program", async () => {
  const listed = await runMain(["docs"]);
  expect(listed.stdout).toMatch(/^Reference:$/m);
  expect(listed.stdout).toMatch(/^ {2}errors +Error codes$/m);
  expect(listed.stdout).toMatch(/^ {2}runbooks +When something fails$/m);
  const page = await runMain(["docs", "errors"]);
  expect(page.stdout).toMatch(/^# Error codes\n/);
  const json = JSON.parse((await runMain(["docs", "--json"])).stdout) as { topics: unknown[] };
  expect(json.topics).toContainEqual({ topic: "errors", part: "reference", title: "Error codes" });
});

it("prints the section that says most about words, and names others", async () => {
  const { stdout } = await runMain(["docs", "client", "times", "out", "after", "60", "seconds"]);
  expect(stdout).toMatch(/^From the page `troubleshooting`:\n\n### My client times out after 60 seconds\n/);
  expect(stdout).toMatch(/^- \w[\w-]*: \w/m);
  const inText = await runMain(["docs", "idempotencyHeader"]);
  expect(inText.stdout).toMatch(/^From the page `(?:serve|tools-file)`:[^]*idempotencyHeader/);
});

it("prints the entry of a code before the page of that name", async () => {
  const { stdout, stderr } = await runMain(["docs", "configuration"]);
  expect(stdout).toMatch(/^### configuration\n\n[^#]+$/);
  expect(stderr).toContain("holdfast docs configuration.md");
  expect((await runMain(["docs", "configuration.md"])).stdout).toMatch(/^# Configuration\n[^]+\n## /);
});

it("finds a section by its heading, with those below it", async () => {
  const one = await runMain(["docs", "of", "programs", "that", "tools", "run"]);
  expect(one.stdout).toMatch(/^## Of programs[^]+### exec_failed\n[^]+### exec_lost\n/);
  expect(one.stdout).not.toContain("## Of HTTP");
});

it("gives models a list of the pages with what each is about, and all of those for users in one", async () => {
  const { index, full } = await llmsTexts((path) => `https://example.com/${path}`);
  expect(index).toMatch(/^# Holdfast\n\n> \w.*\n\n## Learn\n\n- \[/);
  expect(index).toContain("[Error codes](https://example.com/docs/reference/errors.md): What each");
  for (const line of index.split("\n").filter((each) => each.startsWith("- ")))
    expect(line).toMatch(/^- \[.+\]\(https:.+\.md\)(?:: .*\w.*[.])?$/);
  expect(full).toContain("\n### store_locked\n");
  expect(full).not.toContain("stateDiagram");
});

it("prints rules for coding agents, with code that is compiled and run", async () => {
  const { stdout } = await runMain(["docs", "AGENTS.md"]);
  const blocks = [...stdout.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code);
  const files = ["publish.ts", "publish.test.ts"].map(async (name) =>
    readFile(new URL(`../../examples/testing/${name}`, import.meta.url), "utf8"),
  );
  expect(blocks).toEqual(await Promise.all(files));
  const help = (await runMain(["help"])).stdout;
  for (const [, word = ""] of stdout.matchAll(/`holdfast (\w+)/g))
    expect(help).toMatch(new RegExp(`^  ${word} `, "m"));
});

it("suggests what a mistyped word means", async () => {
  const { code, stderr } = await runMain(["docs", "stroe_locked"]);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('mean "store_locked"?'),
  });
});

it.skipIf(process.platform === "win32")("shows a long page in the pager, if there is one", async () => {
  const terminal = { columns: 80, rows: 24 };
  const file = join(await folder(), "shown.txt");
  const paged = await runMain(["docs", "errors"], { ...terminal, env: { PAGER: `cat > '${file}'` } });
  expect(paged).toMatchObject({ code: 0, stdout: "" });
  const text = await readFile(file, "utf8");
  expect(text).toMatch(/^Error codes\n===========\n/);
  const plain = await runMain(["docs", "errors"], { ...terminal, env: { PAGER: "no-such-pager" } });
  expect(plain.stdout).toBe(text);
});

it("says after a failure where to read about it, and not in JSON", async () => {
  const { code, stderr } = await runMain(["admin", "mongodb://db", "list"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/\n {2}holdfast docs store_url\n$/);
  const { stdout } = await runMain(["admin", "mongodb://db", "list", "--json"]);
  expect(stdout).not.toContain("holdfast docs");
});

it("makes text of Markdown that fits a terminal", () => {
  const page = `<!-- Made. -->

# Title

A [link](other.md#part) and \`code\` to
[a site](https://example.com).

- one item that is longer than a line
- two

| name | takes | meaning |
| --- | --- | --- |
| \`a\` | b \\| c | what it is for, at some length |

\`\`\`sh
# no heading
\`\`\`
`;
  expect(sectionsOf(page).map(({ heading }) => heading)).toEqual(["Title"]);
  expect(markdownText(page, 32)).toBe(`Title
=====

A link and code to a site
(https://example.com).

- one item that is longer than
  a line
- two

- a
    takes: b | c
    meaning: what it is for, at
    some length

    # no heading
`);
});
