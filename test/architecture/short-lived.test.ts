import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";

/** What runs for each request, task or wait. */
const perRequest = ["src/server", "src/generation", "src/runtime", "src/client/task"];

/** Made once for a server, or for a tool. */
const madeOnce = new Set([
  "src/server/create-task-server.ts",
  "src/server/http/handler.ts",
  "src/server/http/messages.ts",
  "src/runtime/tool/registry.ts",
]);

/** A function as the value that is assigned to a property. V8 allocates it among its old objects, and so it keeps all that it refers to. */
const assignedFunction =
  /^(?!export |\s*(?:const|let) ).*[\w\])]\.#?\w+ (?:\?\?|\|\|)?= (?:async )?(?:\([^=()]*\)(?:: [^=]+)?|\w+) =>/;

/** A getter of a literal, rather than of a class. It gives each object a hidden class of its own, which V8 keeps with its old objects. */
function gettersOfLiterals(lines: readonly string[]): readonly string[] {
  return lines.filter((line, place) => {
    const indent = /^(\s+)[gs]et \w+\(/.exec(line)?.[1]?.length;
    if (indent === undefined) return false;
    const around = lines
      .slice(0, place)
      .findLast((before) => before.trim() !== "" && before.search(/\S/) < indent && before.endsWith("{"));
    return around !== undefined && !/\b(?:class|interface)\b/.test(around);
  });
}

it("leaves what requests and tasks refer to no longer than they last", async () => {
  const found: string[] = [];
  for (const folder of perRequest)
    for (const [path, text] of await sourceFiles(folder, [".ts"])) {
      if (madeOnce.has(path)) continue;
      const lines = text.split("\n");
      const assigned = lines.filter((line) => assignedFunction.test(line));
      found.push(...[...assigned, ...gettersOfLiterals(lines)].map((line) => `${path}: ${line.trim()}`));
    }
  expect(found).toEqual([]);
});
