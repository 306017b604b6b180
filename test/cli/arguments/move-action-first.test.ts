import { expect, it } from "vitest";
import { moveActionFirst } from "../../../src/cli/arguments/rewrite-argv.ts";

const actions = new Set(["list", "show"]);
const moved = (line: string): string => moveActionFirst(line.split(" "), actions).join(" ");

it.each([
  ["admin tasks.db list", "admin list tasks.db"],
  ["admin tasks.db show ID --json", "admin show tasks.db ID --json"],
  ["admin tasks.db --json list --tool list", "admin list tasks.db --json --tool list"],
  ["admin list tasks.db", "admin list tasks.db"],
  ["admin list list", "admin list list"],
  ["admin tasks.db", "admin tasks.db"],
  ["admin --help", "admin --help"],
  ["call server list", "call server list"],
])("%s is parsed as %s", (given, parsed) => {
  expect(moved(given)).toBe(parsed);
});
