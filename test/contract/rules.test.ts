import { readFile, readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { storeRules, type StoreArea } from "../../src/testing/store-rules.ts";

const source = new URL("../../src/", import.meta.url);

/** The comments of the store's interface, each as one line. */
async function interfaceComments(): Promise<string> {
  const names = (await readdir(new URL("store/", source))).filter((name) => name.endsWith(".ts"));
  const files = [...names.map((name) => `store/${name}`), "task/command.ts", "task/record.ts"];
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, source), "utf8")));
  const comments = texts.flatMap((text) => text.match(/\/\*\*[^]*?\*\//g) ?? []);
  return comments.map((comment) => comment.replaceAll(/\s+(?:\* )?/g, " ")).join("\n");
}

test.each(Object.keys(storeRules) as StoreArea[])(
  "the rule of the cases about %s is a sentence of the store's interface, to the letter",
  async (area) => {
    expect(await interfaceComments()).toContain(storeRules[area].says);
  },
);
