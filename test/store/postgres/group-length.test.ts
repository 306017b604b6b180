import { expect, test } from "vitest";
import { groupLength } from "../../../src/store/postgres/write-queue.ts";
import { createQueued, noon } from "../../../src/testing/sample-task.ts";

const a = createQueued("a");

test("a group is as large as can be decided together", () => {
  const large = { ...a, request: { ...a.request, arguments: "x".repeat(3 * 1024 * 1024) } };
  expect(groupLength([large, large, large])).toBe(2);
  const huge = { ...a, request: { ...a.request, arguments: "x".repeat(9 * 1024 * 1024) } };
  expect(groupLength([huge, a])).toBe(1);
  expect(groupLength(Array.from({ length: 500 }, () => a))).toBe(64);
  const cancel = { type: "cancel", now: noon, id: "task-a" } as const;
  expect(groupLength(Array.from({ length: 500 }, () => cancel))).toBe(200);
  const claim = { type: "claim", now: noon, handlers: [], tokens: [] } as const;
  expect(groupLength([claim, a])).toBe(1);
  expect(groupLength([a, claim])).toBe(1);
  const held = { now: noon, id: "task-a", token: "t" } as const;
  const close = { type: "close_wait", ...held, key: "k", error: "e" } as const;
  const event = { type: "send_event", now: noon, id: "task-a", name: "n", value: "1", limit: 1 } as const;
  expect(groupLength([close, { ...event, dedupeId: null }])).toBe(1);
  expect(groupLength([close, { ...event, id: "task-b", dedupeId: null }])).toBe(2);
  const retry = { type: "retry", ...held, until: noon, statusMessage: "again" } as const;
  expect(groupLength([close, retry])).toBe(1);
  expect(groupLength([retry, cancel])).toBe(2);
});
