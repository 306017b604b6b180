import { posix } from "node:path";
import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { parseImports } from "./parse-imports.ts";
import { maxLines } from "./rules.ts";

const page = await sourceFiles("dashboard/src", [".ts", ".tsx"]);
const sources = await sourceFiles("src", [".ts"]);

/** What a file takes at run time, as paths from the root, and packages by their names. */
function takenBy(path: string, text: string): string[] {
  return parseImports(text)
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ specifier }) =>
      specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier,
    );
}

const shared = [
  "src/admin/admin.ts",
  "src/admin/remote-admin.ts",
  "src/admin/roles.ts",
  "src/generation/web-address.ts",
  "src/task/task-line.ts",
];

it("the page takes Preact, its own files, the client of the admin endpoint, and names of the field", () => {
  expect(page.size).toBeGreaterThan(20);
  const others = [...page]
    .flatMap(([path, text]) => takenBy(path, text))
    .filter((taken) => !taken.startsWith("dashboard/src/") && !/^preact(\/hooks)?$/.test(taken));
  expect([...new Set(others)].sort()).toEqual(shared);
});

it("whatever comes with these runs in a browser", () => {
  const reached = new Set(shared);
  for (const path of reached) {
    const text = sources.get(path);
    if (text === undefined) continue; // a package
    for (const taken of takenBy(path, text)) reached.add(taken);
  }
  const packages = [...reached].filter((path) => !path.startsWith("src/"));
  expect(packages.filter((name) => !["eventsource-parser", "zod/mini"].includes(name))).toEqual([]);
});

it("the page makes no markup of texts, and its files stay small", () => {
  const markup = /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|\beval\(/;
  const found = [...page].filter(([, text]) => markup.test(text) || text.split("\n").length > maxLines);
  expect(found.map(([path]) => path)).toEqual([]);
});
