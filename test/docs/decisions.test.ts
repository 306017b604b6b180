import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { sourceFiles } from "../source-files.ts";

const folder = new URL("../../docs/internals/decisions/", import.meta.url);
const names = (await readdir(folder)).filter((name) => /^\d{4}-/.test(name)).sort();
const numbers = names.map((name) => name.slice(0, 4));

it("numbers the records from 0001 on, each short, with what was decided and why", async () => {
  expect(numbers).toEqual(numbers.map((_, n) => String(n + 1).padStart(4, "0")));
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));
  expect(texts.map((text) => /^# (\d{4}) /.exec(text)?.[1])).toEqual(numbers);
  expect(texts.filter((text) => !/\*\*Decided\.\*\*[^]*\*\*Why\.\*\*/.test(text))).toEqual([]);
  expect(texts.filter((text) => text.split("\n").length > 100)).toEqual([]);
});

it("lists each record once on the page of the folder", async () => {
  const page = await readFile(new URL("README.md", folder), "utf8");
  const linked = [...page.matchAll(/^\| \[(\d{4}) [^\]]+\]\(([^)]+)\)/gm)].map(([, number, name]) => [
    number,
    name,
  ]);
  expect(linked).toEqual(names.map((name) => [name.slice(0, 4), name]));
});

it("is cited by numbers that exist", async () => {
  const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
  const folders = ["src", "test", "docs", "scripts", "bench", "dashboard/src", "examples", "templates"];
  const files = await Promise.all(
    [...pages, ...folders].map((path) => sourceFiles(path, [".ts", ".tsx", ".js", ".md"])),
  );
  const cited = files
    .flatMap((found) => [...found])
    .flatMap(([path, text]) =>
      [...text.matchAll(/[([](00\d\d(?:, 00\d\d)*)\b/g)].flatMap(([, list = ""]) =>
        list.split(", ").map((number) => ({ path, number })),
      ),
    );
  expect(cited.length).toBeGreaterThan(numbers.length);
  expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
});
