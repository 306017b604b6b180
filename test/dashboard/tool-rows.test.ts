import { expect, it } from "vitest";
import { rateText, shareText, toolRows } from "../../dashboard/src/pages/tools/tool-rows.ts";

const none = {
  queued: 0,
  waiting: 0,
  running: 0,
  inputRequired: 0,
  blocked: 0,
  waitsFor: { question: 0, event: 0, call: 0, sleep: 0, retry: 0, limit: 0, slot: 0 },
  completed: 0,
  failed: 0,
  cancelled: 0,
};
const nothing = { created: [], completed: [], failed: [], cancelled: [], refusals: [] };

it("shows each tool with what it did and how its tasks stand, by name", () => {
  const did = {
    created: 9,
    completed: 6,
    failed: 2,
    cancelled: 0,
    retried: 1,
    ended: [3, 5],
    p50Ms: 10,
    p95Ms: 20,
  };
  const rows = toolRows(
    { ...nothing, from: 0, minutes: 2, tools: [{ tool: "b", ...did }] },
    {
      most: 10,
      tools: [
        { tool: "a", ...none, queued: 7, inputRequired: 1, paused: { since: 5, actor: "ann" } },
        { tool: "b", ...none, running: 2, paused: null },
      ],
    },
  );
  expect(rows).toMatchObject([
    {
      tool: "a",
      endedCount: 0,
      endedPerMinute: 0,
      failedShare: null,
      ended: [0, 0],
      p50Ms: null,
      now: [
        { state: "queued", text: "7+ queued" },
        { state: "input_required", text: "1+ needing input" },
      ],
      paused: { since: 5, actor: "ann" },
    },
    {
      tool: "b",
      endedCount: 8,
      endedPerMinute: 4,
      failedShare: 0.25,
      now: [{ state: "running", text: "2+ running" }], // with those of the other tool, as many as are counted
      paused: null,
    },
  ]);
});

it("says of a tool that is in no count what it did", () => {
  const did = {
    created: 1,
    completed: 1,
    failed: 0,
    cancelled: 0,
    retried: 0,
    ended: [1],
    p50Ms: 1,
    p95Ms: 1,
  };
  const rows = toolRows(
    { ...nothing, from: 0, minutes: 1, tools: [{ tool: "a", ...did }] },
    { most: 10, tools: [] },
  );
  expect(rows).toMatchObject([{ tool: "a", now: [], paused: null, failedShare: 0 }]);
});

it.each([
  [0, "0"],
  [0.001, "<0.01"],
  [0.256, "0.26"],
  [12.34, "12.3"],
  [1234.5, "1,235"],
])("writes the rate %d as %s", (rate, text) => {
  expect(rateText(rate)).toBe(text);
});

it.each([
  [0, "0%"],
  [0.0001, "<0.1%"],
  [0.0123, "1.2%"],
  [0.5, "50%"],
  [1, "100%"],
])("writes the share %d as %s", (share, text) => {
  expect(shareText(share)).toBe(text);
});
