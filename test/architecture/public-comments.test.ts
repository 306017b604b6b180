import { posix } from "node:path";
import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { citedIds } from "../spec/coverage.ts";

const reexport = /^export (?:type )?\{(?<names>[^}]*)\} from "(?<path>[^"]+)";/gm;
const docComment = /\/\*\*[\s\S]*?\*\//g;

/** The text of a top-level declaration with the comment above it, up to the next one. */
function declaration(text: string, name: string): string | undefined {
  const start = `(?:/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?export (?:abstract |async |declare )*(?:interface|type|class|function|const) ${name}\\b`;
  return new RegExp(`^${start}[\\s\\S]*?(?:\\n\\n(?=\\S)|$(?![\\s\\S]))`, "m").exec(text)?.[0];
}

it("says nothing of requirements in the comments of public API, which editors show", async () => {
  const files = await sourceFiles("src", [".ts"]);
  const found: string[] = [];
  let looked = 0;
  for (const [entry, text] of files) {
    if (posix.dirname(entry) !== "src") continue;
    for (const { groups } of text.matchAll(reexport)) {
      const path = posix.join("src", groups?.["path"] ?? "");
      for (const each of (groups?.["names"] ?? "").split(",")) {
        const name = each.trim().replace(/^type /, "");
        if (name === "") continue;
        const declared = declaration(files.get(path) ?? "", name);
        expect(declared, `${name} in ${path}`).toBeDefined();
        looked++;
        for (const comment of declared?.match(docComment) ?? []) {
          found.push(...[...citedIds(comment)].map((id) => `${path}: ${id} at ${name}`));
        }
      }
    }
  }
  expect(looked).toBeGreaterThan(100);
  expect(found).toEqual([]);
});
