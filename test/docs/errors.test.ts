import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { errorsUrl, renderErrors } from "../../scripts/errors.ts";
import { clientErrors, commandErrors } from "../../scripts/reference/client-errors.ts";
import { execErrors, faults, refusals } from "../../scripts/reference/server-errors.ts";
import { runMain } from "../cli/run-main.ts";

const tables = { ...faults, ...execErrors, ...refusals, ...clientErrors, ...commandErrors };

// The compiler refuses a table that lacks a code.
it("has the page of error codes; if not: npm run docs:errors", async () => {
  expect(await readFile(errorsUrl, "utf8")).toBe(await renderErrors());
});

it.each(Object.entries(tables))("says what %s means in whole sentences", (_, help) => {
  for (const text of Object.values(help)) expect(text).toMatch(/^[A-Z`].*\.$/);
});

it("explains each code in the terminal, within its width", async () => {
  const narrow = await runMain(["docs", "store_locked"], { columns: 60 });
  expect(narrow.code).toBe(0);
  expect(narrow.stdout).toContain("store_locked\n\n");
  for (const line of narrow.stdout.split("\n")) expect(line.length).toBeLessThan(60);
  const both = await runMain(["docs", "unknown_task"]);
  expect(both.stdout.match(/^### unknown_task$/gm)).toHaveLength(2);
});
