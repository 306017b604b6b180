import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { alone, encrypted, postgres, quick, slow } from "../suites.ts";

const cwd = fileURLToPath(new URL("../../", import.meta.url));
const filesOf = (glob: string): string[] =>
  globSync(glob, { cwd }).filter((path) => path.endsWith(".test.ts"));

test.each([...alone, ...encrypted, ...postgres, ...quick, ...slow])("%s names files of tests", (glob) => {
  expect(filesOf(glob)).not.toEqual([]);
});

test("no file is in two groups", () => {
  const files = [...alone, ...quick, ...slow].flatMap(filesOf);
  expect(files.filter((file, place) => files.indexOf(file) !== place)).toEqual([]);
});
