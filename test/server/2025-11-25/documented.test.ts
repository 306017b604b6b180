import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { defaultSettings } from "../../../src/runtime/options.ts";

const page = async (): Promise<string> => {
  const text = await readFile(new URL("../../../docs/learn/guarantees.md", import.meta.url), "utf8");
  return text.replaceAll(/\s+/g, " "); // lines are broken anywhere
};

const day = 24 * 60 * 60 * 1000;

it("says where the id is the only key, and what to do about it [C-122]", async () => {
  expect(await page()).toContain("callers are not told apart: the id is the only key");
  expect(await page()).toContain("Give such a server a short `keepMs` or `ttlMs`, and a short `maxTtlMs`");
});

it("says how long a ttl can be, and how many tasks run at a time [C-127]", async () => {
  const { minTtlMs, maxTtlMs, keepMs, concurrency } = defaultSettings;
  expect({ minTtlMs, maxTtlMs, keepMs }).toEqual({ minTtlMs: 1_000, maxTtlMs: 30 * day, keepMs: day });
  const text = await page();
  expect(text).toContain("between `minTtlMs` and `maxTtlMs`: 1 second and 30 days by default");
  expect(text).toContain("`keepMs` from its end, 24 hours by default");
  expect(text).toContain(`\`concurrency\` handlers run at a time, ${concurrency} by default`);
});
