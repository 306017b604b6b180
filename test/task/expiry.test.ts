import { expect, test } from "vitest";
import { deletableAt, expiresAt } from "../../src/task/expiry.ts";

test("a ttl from creation ends the task and its record at the same time", () => {
  expect(expiresAt({ from: "created", ms: 50 }, 100, null)).toBe(150);
  expect(deletableAt({ from: "created", ms: 50 }, 100, 120)).toBe(150);
});

test("a ttl from the terminal status starts with it, and never ends a running task", () => {
  expect(expiresAt({ from: "terminal", ms: 50 }, 100, null)).toBeNull();
  expect(deletableAt({ from: "terminal", ms: 50 }, 100, 120)).toBe(170);
});

test("without a ttl a task is kept for good", () => {
  for (const from of ["created", "terminal"] as const) {
    expect(expiresAt({ from, ms: null }, 100, null)).toBeNull();
    expect(deletableAt({ from, ms: null }, 100, 120)).toBeNull();
  }
});

test("a ttl of zero is a ttl", () => {
  expect(expiresAt({ from: "created", ms: 0 }, 100, null)).toBe(100);
  expect(deletableAt({ from: "terminal", ms: 0 }, 100, 120)).toBe(120);
});

test("what has no end of its own ends with the limit on its run, and its record is kept by its ttl", () => {
  expect(expiresAt({ from: "terminal", ms: 50 }, 100, 900)).toBe(900);
  expect(expiresAt({ from: "created", ms: null }, 100, 900)).toBe(900);
  expect(expiresAt({ from: "created", ms: 2_000 }, 100, 900)).toBe(2_100);
});
