import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { apart, shortened, slow } from "../suites.ts";

const cwd = fileURLToPath(new URL("../../", import.meta.url));
const filesOf = (glob: string): string[] =>
  globSync(glob, { cwd }).filter((path) => path.endsWith(".test.ts"));

test.each([...apart, ...slow, ...shortened])("%s names files of tests", (glob) => {
  expect(filesOf(glob)).not.toEqual([]);
});

test("no file is in two groups", () => {
  const files = [...apart, ...slow, ...shortened].flatMap(filesOf);
  expect(files.filter((file, place) => files.indexOf(file) !== place)).toEqual([]);
});

test("whatever has a short form runs in full somewhere", () => {
  const inFull = new Set([...apart, ...slow, ...shortened].flatMap(filesOf));
  const haveForms = globSync("test/**/*.test.ts", { cwd }).filter((path) =>
    /^import .*\/full-form\.ts";$/m.test(readFileSync(`${cwd}${path}`, "utf8")),
  );
  expect(haveForms.filter((path) => !inFull.has(path))).toEqual([]);
});
