import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { testTasks, type TestTasks } from "holdfast/testing";
import { describe, expect, it } from "vitest";
import { addCodeMigration } from "../../../examples/use-cases/code-migration.ts";
import { toEsModule } from "../../../examples/use-cases/codemod.ts";
import { newFolder, outerEnv } from "../../docs/example-process.ts";

/** A package in CommonJS that does something. */
const shop: Readonly<Record<string, string>> = {
  "package.json": '{ "name": "shop" }',
  "main.js": `"use strict";
// é 😀 stay where they are
const { join, sep: slash } = require("node:path");
const os = require("os");
const price = require("./lib/price");
const { format } = require("./lib/format");
const Cart = require("./lib");
require("./lib/log.js");

const cart = new Cart();
cart.add("tea", price.of("tea"));
console.log(format(cart.total()), join("a", "b").split(slash).length, typeof os.cpus);
`,
  "lib/index.js": `"use strict";
const { of } = require("./price");

module.exports = class Cart {
  items = [];
  add(name, price = of(name)) {
    this.items.push(price);
  }
  total() {
    return this.items.reduce((sum, item) => sum + item, 0);
  }
};
`,
  "lib/price.js": `const prices = { tea: 3 };
exports.currency = "EUR";
exports.of = (name) => prices[name];
`,
  "lib/format.js": `const { currency } = require("./price.js");
function format(sum) {
  return sum + " " + currency;
}
function unused() {}
module.exports = { format, nothing: unused };
`,
  "lib/log.js": `console.log("log is loaded");
`,
};

type Files = Readonly<Record<string, string>>;

/** A folder with the one package, "shop". */
async function folderWith(files: Files): Promise<string> {
  const folder = await newFolder();
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, "shop", file)), { recursive: true });
    await writeFile(join(folder, "shop", file), text);
  }
  return folder;
}

async function filesIn(folder: string): Promise<Files> {
  const entries = await readdir(join(folder, "shop"), { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    paths.map(async (path) => {
      const file = path.slice(join(folder, "shop").length + 1).replaceAll("\\", "/");
      return [file, await readFile(path, "utf8")] as const;
    }),
  );
  return Object.fromEntries(texts);
}

/** What the package prints. */
async function run(folder: string): Promise<string> {
  const ran = promisify(execFile)(process.execPath, [join(folder, "shop", "main.js")], { env: outerEnv });
  return (await ran).stdout;
}

const migrating = (folder: string): Promise<TestTasks> =>
  testTasks((tasks) => addCodeMigration(tasks, folder));
const write = { name: "shop", write: true };

it("migrates a package that prints the same afterwards, although the server dies after a file was written", async () => {
  const folder = await folderWith(shop);
  const before = await run(folder);
  await using t = await migrating(folder);
  const died = t.crash({ before: ["write", "lib/price.js"] });
  const task = await t.start("migrate_package", write);
  await died;
  await t.restart();
  const { content, structuredContent } = await task.result();
  expect(content).toEqual([{ type: "text", text: "4 of 5 files are migrated." }]);
  expect(structuredContent).toMatchObject({ written: true, files: { length: 5 } });
  expect((await task.output()).map(({ content: part }) => part)).toEqual([
    { type: "text", text: "lib/format.js: 2 changes" },
    { type: "text", text: "lib/index.js: 3 changes" },
    { type: "text", text: "lib/log.js: 0 changes" },
    { type: "text", text: "lib/price.js: 2 changes" },
    { type: "text", text: "main.js: 7 changes" },
  ]);
  expect([t.runs(["plan", "main.js"]), t.runs(["write", "lib/price.js"])]).toEqual([1, 2]);
  expect(await run(folder)).toBe(before);
  expect(before).toBe("log is loaded\n3 EUR 2 function\n");
  const after = await filesIn(folder);
  expect(JSON.parse(after["package.json"] ?? "")).toEqual({ name: "shop", type: "module" });
  expect(after["main.js"]).toContain('import * as price from "./lib/price.js";\nimport { format } from');
  expect(Object.keys(after).toSorted()).toEqual(Object.keys(shop).toSorted());

  const again = await t.call("migrate_package", write);
  expect(again.content).toEqual([{ type: "text", text: "0 of 5 files are migrated." }]);
  expect(await filesIn(folder)).toEqual(after);
});

it("writes nothing unless it is told to", async () => {
  const folder = await folderWith(shop);
  await using t = await migrating(folder);
  const { content, structuredContent } = await t.call("migrate_package", { name: "shop" });
  expect(content).toEqual([{ type: "text", text: "All files can be migrated." }]);
  expect(structuredContent).toMatchObject({ written: false });
  expect(await filesIn(folder)).toEqual(shop);
});

it("writes nothing where a file needs a person, and says which and where", async () => {
  const folder = await folderWith({
    ...shop,
    "lib/log.js": 'const log = 1;\nif (log) require("./price");\n',
  });
  const before = await filesIn(folder);
  await using t = await migrating(folder);
  const { structuredContent } = await t.call("migrate_package", write);
  expect(structuredContent).toMatchObject({ written: false });
  const { files } = structuredContent as { files: { file: string; left: string[] }[] };
  expect(files.filter(({ left }) => left.length > 0)).toEqual([
    { file: "lib/log.js", changes: 0, left: ["line 2: require"] },
  ]);
  expect(await filesIn(folder)).toEqual(before);
});

it("leaves whole files where it is cancelled, and the next call goes on", async () => {
  const folder = await folderWith(shop);
  const before = await run(folder);
  await using t = await migrating(folder);
  const died = t.crash({ after: ["write", "lib/index.js"] });
  const task = await t.start("migrate_package", write);
  await died;
  const cancelled = task.cancel();
  await t.restart();
  await cancelled;
  await expect(task.result()).rejects.toMatchObject({ code: "cancelled" });
  const between = await filesIn(folder);
  expect(between["lib/index.js"]).toContain("export default class Cart");
  expect(between["main.js"]).toBe(shop["main.js"]);
  await t.call("migrate_package", write);
  expect(await run(folder)).toBe(before);
});

describe("the codemod", () => {
  const migrated = (code: string): readonly [string, readonly string[]] => {
    const { code: text, left } = toEsModule(code, (specifier) => {
      if (specifier === "./value") return { specifier: "./value.js", code: "module.exports = 1;" };
      if (specifier === "./names") return { specifier: "./names.js", code: "exports.a = 1;" };
      return undefined;
    });
    return [text, left];
  };

  it.each([
    ['const a = require("a");', 'import a from "a";'],
    ['require("a");', 'import "a";'],
    ['const { a: b } = require("./names")', 'import { a as b } from "./names.js";'],
    ['var a = require("./names");', 'import * as a from "./names.js";'],
    ['const a = require("./value");', 'import a from "./value.js";'],
    ["module.exports = f;", "export default f;"],
    ["module.exports = { a, b: c };", "export { a, c as b };"],
    ["module.exports.a = a;", "export { a };"],
    ["exports.a = b;", "export { b as a };"],
    ["exports.a = 1 + 1;", "export const a = 1 + 1;"],
    ["exports.a = page.module(1, { exports: 2 });", "export const a = page.module(1, { exports: 2 });"],
    ['import a from "a";\nexport default a;', 'import a from "a";\nexport default a;'],
  ])("migrates %s", (code, text) => {
    expect(migrated(code)).toEqual([text, []]);
    expect(migrated(text)).toEqual([text, []]);
  });

  it.each([
    ['const { a } = require("a");', ["line 1: require"]], // whether it has that name is not known
    ['const { a } = require("./value");', ["line 1: require"]],
    ['const a = require("./missing");', ["line 1: require"]],
    ["\nconst path = __dirname;", ["line 2: __dirname"]],
    ["function f() {\n  module.exports.f = f;\n}", ["line 2: module"]],
    ['const a = require("a"), b = require(a);', ["line 1: require", "line 1: require"]],
    ['exports.a = require("a").b;', ["line 1: require"]],
    ["const = 1;", ["It is no JavaScript."]],
  ])("leaves %s to a person", (code, left) => {
    expect(migrated(code)).toEqual([code, left]);
  });
});
