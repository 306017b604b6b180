import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const contract = new URL("../../src/testing/store-contract.ts", import.meta.url);
const withVitest = new URL("./sqlite.test.ts", import.meta.url);
const withNodeTest = new URL("./with-node-test.ts", import.meta.url);

test("the contract shows authors of stores code that is run, to the letter", async () => {
  const comments = (await readFile(contract, "utf8")).replaceAll(/^ \* ?/gm, "");
  const blocks = [...comments.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  expect(blocks).toEqual([await readFile(withVitest, "utf8"), await readFile(withNodeTest, "utf8")]);
});

test("Node's own runner runs every case of the contract", async () => {
  const child = spawn(process.execPath, ["--test-reporter=tap", fileURLToPath(withNodeTest)]);
  const exited = once(child, "exit");
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(errors).toBe("");
  expect(output).toMatch(/^# pass [23]\d\d$/m);
  expect(output).toMatch(/^ok \d+ - owners: .+ # SKIP This kind of store has one owner at a time\.$/m);
  expect(output).toMatch(/^# skipped [1-9]\d$/m);
  expect(output).toMatch(/^# fail 0$/m);
  expect(await exited).toEqual([0, null]);
});
