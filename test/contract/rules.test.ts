import { readFile, readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { storeRules, type StoreArea } from "../../src/testing/store-rules.ts";

const source = new URL("../../src/", import.meta.url);

/** The comments of the store's interface, each as one line. */
async function interfaceComments(): Promise<string> {
  const filesIn = async (folder: string): Promise<readonly string[]> =>
    (await readdir(new URL(folder, source))).flatMap((name) => (name.endsWith(".ts") ? folder + name : []));
  const files = [...(await filesIn("store/")), ...(await filesIn("task/"))];
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
