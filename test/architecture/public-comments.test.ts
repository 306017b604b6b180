import { posix } from "node:path";
import { expect, it } from "vitest";
import { citedIds } from "../spec/coverage.ts";
import { sourceFiles } from "../source-files.ts";

const reexport = /^export (?:type )?\{(?<names>[^}]*)\} from "(?<path>[^"]+)";/gm;
const docComment = /\/\*\*[\s\S]*?\*\//g;
const declaration =
  /^(?:export )?(?:async )?(?<kind>interface|type|class|abstract class|function|const) (?<name>\w+)/m;

/** The comments above and in the declarations of `text` that users see: those of `names`, and the types that they are made of. */
function publicComments(text: string, names: ReadonlySet<string>): readonly string[] {
  return text.split(/\n\n(?=\S)/).flatMap((part) => {
    const { kind = "", name = "" } = declaration.exec(part)?.groups ?? {};
    const isSeen = kind === "interface" || kind === "type" || names.has(name);
    return isSeen ? [...(part.match(docComment) ?? [])] : [];
  });
}

it("says nothing of requirements in the comments of public API, which editors show", async () => {
  const files = await sourceFiles("src", [".ts"]);
  const found: string[] = [];
  let looked = 0;
  for (const [entry, text] of files) {
    if (posix.dirname(entry) !== "src") continue;
    for (const { groups } of text.matchAll(reexport)) {
      const path = posix.join("src", groups?.["path"] ?? "");
      const names = new Set(
        (groups?.["names"] ?? "").split(",").map((name) => name.trim().replace(/^type /, "")),
      );
      for (const comment of publicComments(files.get(path) ?? "", names)) {
        looked++;
        found.push(...[...citedIds(comment)].map((id) => `${path}: ${id}`));
      }
    }
  }
  expect(looked).toBeGreaterThan(300);
  expect(found).toEqual([]);
});
