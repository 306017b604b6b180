import { expect, it } from "vitest";
import { countText } from "../../dashboard/src/parts/counted.ts";
import { countTasks, EndedCounts, mostCounted } from "../../src/admin/count-tasks.ts";
import { countTable } from "../../src/cli/command/admin/operation-tables.ts";
import type { AlikeTasks } from "../../src/store/admin-store.ts";

const ended = { lane: null, waiting: false, waitsFor: null, openInputs: 0, state: "settled" } as const;
const groups: readonly AlikeTasks[] = [
  { ...ended, tool: "publish", outcomeKind: "result", tasks: 1_234_567 },
  { ...ended, tool: "publish", outcomeKind: "error", tasks: 40 },
  { ...ended, tool: "render", outcomeKind: "result", tasks: 9_000 },
  { ...ended, tool: "publish", state: "queued", lane: "new", outcomeKind: null, tasks: 77 },
];

const numbers = (counted: Readonly<Record<string, number>>, estimate?: () => Promise<typeof groups>) => ({
  paused: async () => [],
  endedTools: async () => ["publish", "render"],
  tasks: async () => [],
  count: async (range: { readonly of: string; readonly tool?: string; readonly as?: string }) =>
    counted[`${range.tool} ${range.as}`] ?? 0,
  ...(estimate && { estimate }),
});
const counted = { "publish result": mostCounted, "publish error": 31, "render result": mostCounted };

it("what reaches the limit of exact counts is estimated, and said to be", async () => {
  const store = numbers(counted, async () => groups);
  const counts = await countTasks(store, new EndedCounts(mostCounted, () => 0), store);
  // Exact counts stay, and an estimate below what was counted is none.
  expect(counts.tools).toMatchObject([
    { tool: "publish", completed: 1_234_567, failed: 31, queued: 0, estimated: ["completed"] },
    { tool: "render", completed: mostCounted },
  ]);
  expect(counts.tools[1]).not.toHaveProperty("estimated");
  expect(countTable(counts, undefined)).toMatch(/publish.*\t~1234567\t31\t/);
  expect(countTable(counts, undefined)).toMatch(/render.*\t10000\+\t0\t/);
  expect(countText(counts, counts.tools, "completed")).toBe("≈ 1,200,000");
  expect(countText(counts, counts.tools.slice(1), "completed")).toBe("10,000+");
});

it("exact counts need no estimate, and a store without one says at least how many", async () => {
  const small = numbers({ "publish result": 9 }, () => Promise.reject(new Error("not asked")));
  const exact = await countTasks(small, new EndedCounts(mostCounted, () => 0), small);
  expect(exact.tools).toMatchObject([{ completed: 9 }, { completed: 0 }]);
  const plain = numbers(counted);
  const { tools } = await countTasks(plain, new EndedCounts(mostCounted, () => 0), plain);
  expect(tools[0]).toMatchObject({ completed: mostCounted });
  expect(tools[0]).not.toHaveProperty("estimated");
});
