import { describe, expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";
import { checkSources, generationsNamedIn } from "./check-sources.ts";
import { parseImports } from "./parse-imports.ts";
import { edgeOnly, edges, namesGenerations } from "./rules.ts";

it("src keeps its layers, its purity and its size", async () => {
  const files = await sourceFiles("src", [".ts"]);
  // An empty folder would pass every rule.
  expect(files.size).toBeGreaterThan(10);
  expect(checkSources(files)).toEqual([]);
});

it("every edge is still one", async () => {
  const files = await sourceFiles("src", [".ts"]);
  const idle = [...edges.keys()].filter((path) => files.get(path)?.search(edgeOnly) === -1);
  expect(idle).toEqual([]);
});

it("every file that may name generations does", async () => {
  const files = await sourceFiles("src", [".ts"]);
  const idle = [...namesGenerations.keys()].filter(
    (path) => generationsNamedIn(path, files.get(path) ?? "").length === 0,
  );
  expect(idle).toEqual([]);
});

describe("the parser", () => {
  it("sees every form of import", () => {
    const source = `
      import { a, type B } from "./one.ts";
      import type { C } from './two.ts';
      import {
        d,
      } from "./three.ts";
      export * from "./four.ts";
      import "./five.ts";
      const six = await import("./six.ts");
      const seven = new Worker(new URL("./seven.ts", import.meta.url));
      type Eight = import("./eight.ts").Eight;
    `;
    const found = parseImports(source).map((edge) => edge.specifier);
    expect(found.sort()).toEqual(
      ["one", "two", "three", "four", "five", "six", "seven", "eight"].map((name) => `./${name}.ts`).sort(),
    );
    expect(parseImports(source).filter((edge) => edge.typeOnly)).toEqual([
      { specifier: "./two.ts", typeOnly: true },
    ]);
  });

  it("sees the thread that is started, from the sources and from the build", () => {
    const source = `
      const here = import.meta.url.endsWith(".ts") ? "x" : "y";
      new Worker(new URL(isSource(here) ? "./thread.ts" : "./thread.js", import.meta.url));
      readFile(new URL("../package.json", import.meta.url));
    `;
    expect(parseImports(source)).toEqual([{ specifier: "./thread.ts", typeOnly: false }]);
  });

  it("is not fooled by comments, strings and regular expressions", () => {
    const source = `
      // import { a } from "./a.ts";
      /* import "./b.ts"; */
      const url = "https://example.com"; import { c } from "./c.ts";
      const trimmed = path.replace(/\\/*$/, ""); import { d } from "./d.ts";
    `;
    expect(parseImports(source).map((edge) => edge.specifier)).toEqual(["./c.ts", "./d.ts"]);
  });

  it("reports a path that it cannot know", () => {
    expect(parseImports("await import(name);")).toEqual([{ specifier: "<computed>", typeOnly: false }]);
  });
});

describe("the checker", () => {
  const target = "export const x = 1;";
  const cases: [rule: string, path: string, text: string, others: string[], problem: RegExp | undefined][] = [
    [
      "a layer may import the one below",
      "src/runtime/a.ts",
      'import "../store/b.ts";',
      ["src/store/b.ts"],
      undefined,
    ],
    [
      "and not the one above",
      "src/store/a.ts",
      'import "../runtime/b.ts";',
      ["src/runtime/b.ts"],
      /store must not/,
    ],
    [
      "task knows nobody",
      "src/task/a.ts",
      'import "../store/b.ts";',
      ["src/store/b.ts"],
      /task must not import/,
    ],
    [
      "task uses no module of Node",
      "src/task/a.ts",
      'import "node:crypto";',
      [],
      /task must not use node:crypto/,
    ],
    [
      "server takes types from store",
      "src/server/a.ts",
      'import type { x } from "../store/b.ts";',
      ["src/store/b.ts"],
      undefined,
    ],
    [
      "and nothing that runs",
      "src/server/a.ts",
      'import { x } from "../store/b.ts";',
      ["src/store/b.ts"],
      /types only/,
    ],
    [
      "server does not know client",
      "src/server/a.ts",
      'import "../client/b.ts";',
      ["src/client/b.ts"],
      /server must not/,
    ],
    [
      "nor client server",
      "src/client/a.ts",
      'import "../server/b.ts";',
      ["src/server/b.ts"],
      /client must not/,
    ],
    [
      "generations are apart",
      "src/generation/2026-07-28-listen.ts",
      'import "./sep-1686.ts";',
      ["src/generation/sep-1686.ts"],
      /not know/,
    ],
    [
      "and share the interface",
      "src/generation/2026-07-28.ts",
      'import "./b.ts"; import "./2026-07-28-listen.ts";',
      ["src/generation/b.ts", "src/generation/2026-07-28-listen.ts"],
      undefined,
    ],
    [
      "stores are apart",
      "src/store/postgres/a.ts",
      'import "../sqlite/b.ts";',
      ["src/store/sqlite/b.ts"],
      /not know/,
    ],
    [
      "a thread counts",
      "src/store/postgres/a.ts",
      'new URL("../sqlite/b.ts", import.meta.url);',
      ["src/store/sqlite/b.ts"],
      /not know/,
    ],
    [
      "the port knows no store",
      "src/store/a.ts",
      'import "./sqlite/b.ts";',
      ["src/store/sqlite/b.ts"],
      /the port/,
    ],
    [
      "a chooser knows all",
      "src/store/from-url.ts",
      'import "./sqlite/b.ts";',
      ["src/store/sqlite/b.ts"],
      undefined,
    ],
    [
      "wire forms of the client are apart",
      "src/client/2025-11-25/a.ts",
      'import "../2026-07-28/b.ts";',
      ["src/client/2026-07-28/b.ts"],
      /wire form/,
    ],
    [
      "and the client's rooms know none",
      "src/client/task/a.ts",
      'import "../sep-1686/b.ts";',
      ["src/client/sep-1686/b.ts"],
      /wire form/,
    ],
    [
      "but know each other",
      "src/client/task/a.ts",
      'import "../reply/b.ts";',
      ["src/client/reply/b.ts"],
      undefined,
    ],
    ["entries import anything", "src/a.ts", 'import "./server/b.ts";', ["src/server/b.ts"], undefined],
    ["nothing imports an entry", "src/server/a.ts", 'import "../b.ts";', ["src/b.ts"], /entry file/],
    [
      "a new folder needs a rule",
      "src/misc/a.ts",
      'import "../task/b.ts";',
      ["src/task/b.ts"],
      /has no rule/,
    ],
    ["src stands alone", "src/task/a.ts", 'import "../../test/b.ts";', [], /no file of src/],
    [
      "no file compares with a generation",
      "src/cli/a.ts",
      'if (name === "sep-1686") x();',
      [],
      /names the generation sep-1686/,
    ],
    [
      "nor by the constant that has its name",
      "src/server/a.ts",
      'import { generation as core } from "../generation/2025-11-25.ts";',
      ["src/generation/2025-11-25.ts"],
      /names the generation 2025-11-25/,
    ],
    [
      "but what is in its folder",
      "src/server/2025-11-25/a.ts",
      'import { generation } from "../../generation/2025-11-25.ts";',
      ["src/generation/2025-11-25.ts"],
      undefined,
    ],
    ["or a comment", "src/cli/a.ts", '// as "sep-1686" has it\n', [], undefined],
    ["the clock is an edge", "src/server/a.ts", "const t = Date.now();", [], /uses Date\.now/],
    ["also inside a template", "src/server/a.ts", "const t = `${Date.now()}`;", [], /uses Date\.now/],
    ["not in a comment", "src/server/a.ts", "// Date.now() is for clocks\n", [], undefined],
    ["an edge may use it", "src/runtime/clock.ts", "const t = Date.now();", [], undefined],
    ["a given time is no clock", "src/task/a.ts", "const t = new Date(ms).toISOString();", [], undefined],
    ["pure layers set no timer", "src/generation/a.ts", "setTimeout(run, 1);", [], /layer is pure/],
    ["a file has an end", "src/server/a.ts", "x();\n".repeat(401), [], /401 lines/],
  ];

  it.each(cases)("%s", (_rule, path, text, others, problem) => {
    const found = checkSources(new Map([[path, text], ...others.map((other) => [other, target] as const)]));
    if (problem === undefined) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringMatching(problem)]);
  });

  it("finds a cycle, however long", () => {
    const files = new Map([
      ["src/task/a.ts", 'import type { B } from "./b.ts";'],
      ["src/task/b.ts", 'import { c } from "./c.ts";'],
      ["src/task/c.ts", 'export * from "./a.ts";'],
    ]);
    expect(checkSources(files)).toEqual([
      "import cycle: src/task/a.ts → src/task/b.ts → src/task/c.ts → src/task/a.ts",
    ]);
  });
});
