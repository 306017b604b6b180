import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import * as ofNode from "holdfast/client";
import { pageScript } from "./web-bundle.ts";

it("has the same names in browsers and workers, and nothing of Node", async () => {
  const { code, imports } = await pageScript('export * from "holdfast/client";');
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/["']node:/);
  const folder = await mkdtemp(join(tmpdir(), "holdfast-web-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "page.mjs");
  await writeFile(file, code);
  const ofPage = (await import(pathToFileURL(file).href)) as object;
  expect(Object.keys(ofPage).toSorted()).toEqual(Object.keys(ofNode).toSorted());
});
