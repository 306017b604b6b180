import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";

/** What people wrote for users, in words: 35,000 and a little room. */
const most = 35_100;

/** Tables that another test holds to the source: test/telemetry/guide.test.ts. */
const tablesOfSource = "docs/reference/telemetry.md";

it("has no more words for users than they read", async () => {
  const files = [...(await sourceFiles("docs", [".md"]))].filter(
    ([path, text]) =>
      /^docs\/(learn|recipes|operate|reference)\//.test(path) && !text.startsWith("<!-- Made from"),
  );
  const readme = [...(await sourceFiles("README.md", [".md"]))];
  expect(readme).toHaveLength(1);
  expect(files.length).toBeGreaterThan(70);
  const counted = [...readme, ...files].map(([path, text]) => wordsOf(path, text));
  expect(counted.reduce((sum, words) => sum + words, 0)).toBeLessThan(most);
});

/** Words outside of code blocks and of what the source makes. A piece of code in a sentence is one. */
function wordsOf(path: string, text: string): number {
  const prose = (path === tablesOfSource ? text.replace(/^\|.*$/gm, "") : text)
    .replace(/^```[^]*?^```/gm, "")
    .replace(/<!-- \w+[^>]*-->[^]*?<!-- (?:end|\/\w+) -->/g, "")
    .replace(/<[^>]+>/g, "")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/^\[[^\]]+\]: .*$/gm, "")
    .replace(/`[^`\n]+`/g, "code");
  return prose.split(/\s+/).filter((word) => /\p{L}/u.test(word)).length;
}
