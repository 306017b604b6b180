import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../cli/run-cli.ts";

/** What people read, and run. */
const places = ["docs", "examples", "templates", "src", "dashboard/src", "test/cli/screens/golden"];
const pages = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/** Names with a scope belong to whoever has the scope; any other may be anybody's. */
const runsAnyones =
  /\b(?:npx|bunx|pnpx|(?:pnpm|yarn) dlx|npm (?:exec|create|init))\s+(?:-\S+\s+)*(?![@-]|starts\b)[\w.-]+\b/g;
const installsOurs =
  /\b(?:npm|pnpm|yarn|bun|deno)\s+(?:install|i|add)\b[^\n`]*\s(?:npm:)?holdfast(?=[\s@`]|$)/g;
const startsAnyones = /"command":\s*"(?:npx|bunx|pnpx)"/g;

it("no page, template or message has people run or install a name that anybody could take", async () => {
  const folders = await Promise.all(
    places.map(async (place) => {
      const entries = await readdir(join(root, place), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
        .map((entry) => join(entry.parentPath, entry.name));
    }),
  );
  const files = [...folders.flat(), ...pages.map((page) => join(root, page))];
  expect(files.length).toBeGreaterThan(500);
  const found: string[] = [];
  for (const file of files.filter((name) => !/\.(?:png|ico)$/.test(name))) {
    const text = await readFile(file, "utf8");
    for (const told of [runsAnyones, installsOurs, startsAnyones])
      for (const [match] of text.matchAll(told)) found.push(`${file.slice(root.length)}: ${match}`);
  }
  expect(found).toEqual([]);
});
