import { expect, it } from "vitest";
import {
  grouped,
  meaningOf,
  refusalGroupOf,
  refusalGroups,
} from "../../dashboard/src/pages/refusals/refusal-groups.ts";
import { sourceFiles } from "../source-files.ts";

/** The names that a union of texts in a source has. */
async function namesIn(path: string, type: string): Promise<string[]> {
  const text = (await sourceFiles(path, [".ts"])).get(path) ?? "";
  const [, union = ""] =
    new RegExp(`export type ${type} =([^;]*;)`).exec(text.replaceAll(/\/\/.*/g, "")) ?? [];
  return [...union.matchAll(/"(\w+)"/g)].map(([, name = ""]) => name);
}

const faults = await namesIn("src/task/fault.ts", "FaultCode");
const http = await namesIn("src/runtime/events/server-event.ts", "HttpRefusal");

it("knows where codes are written", () => {
  expect(faults.length).toBeGreaterThan(40);
  expect(http.length).toBeGreaterThan(5);
});

it.each([...faults, ...http])("puts %s into a group, and says what it means", (code) => {
  expect(refusalGroups[refusalGroupOf(code)].advice).not.toBe("");
  expect(meaningOf(code, null)).not.toMatch(/does not know/);
});

it.each([
  ["rate_limited", "rates"],
  ["limit_reached", "quotas"],
  ["unknown_task", "misses"],
  ["not_found", "misses"],
  ["unauthorized", "access"],
  ["insufficient_scope", "access"],
  ["invalid_params", "mistakes"],
  ["unavailable", "trouble"],
  ["other", "others"],
  ["constructor", "others"],
])("has %s among %s", (code, group) => {
  expect(refusalGroupOf(code)).toBe(group);
});

it("says which rate or limit it was as far as the method tells", () => {
  expect(meaningOf("rate_limited", "tasks/list")).toBe("A client listed tasks too often.");
  expect(meaningOf("limit_reached", "initialize")).toBe(meaningOf("limit_reached", null));
  expect(meaningOf("limit_reached", "constructor")).toBe(meaningOf("limit_reached", null));
});

it("adds up what is of one group, most frequent first", () => {
  const groups = grouped(
    [
      { code: "unknown_task", method: "tasks/get", count: 3, byMinute: [1, 2] },
      { code: "limit_reached", method: "tools/call", count: 1, byMinute: [0, 1] },
      { code: "not_found", method: null, count: 5, byMinute: [5, 0] },
    ],
    2,
  );
  expect(groups.map(({ name, count, byMinute }) => [name, count, byMinute])).toEqual([
    ["quotas", 1, [0, 1]],
    ["misses", 8, [6, 2]],
  ]);
  expect(groups[1]?.refusals.map(({ code }) => code)).toEqual(["not_found", "unknown_task"]);
  expect(grouped([], 2)).toEqual([]);
});
