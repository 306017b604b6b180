import { expect, test } from "vitest";
import { endsAt, expiresAt } from "../../src/task/expiry.ts";

test("a ttl from creation ends the task", () => {
  expect(expiresAt({ from: "created", ms: 50 }, 100, null)).toBe(150);
  expect(expiresAt({ from: "created", ms: 0 }, 100, null)).toBe(100);
});

test("a ttl from the terminal status never ends a running task", () => {
  expect(expiresAt({ from: "terminal", ms: 50 }, 100, null)).toBeNull();
});

test("without a ttl a task does not end by itself", () => {
  for (const from of ["created", "terminal"] as const) {
    expect(expiresAt({ from, ms: null }, 100, null)).toBeNull();
  }
});

test("what has no end of its own ends with the limit on its run", () => {
  expect(expiresAt({ from: "terminal", ms: 50 }, 100, 900)).toBe(900);
  expect(expiresAt({ from: "created", ms: null }, 100, 900)).toBe(900);
  expect(expiresAt({ from: "created", ms: 2_000 }, 100, 900)).toBe(2_100);
});

test("a task ends earlier if its caller left, and if nothing else ends it", () => {
  const life = { expiry: { from: "created", ms: 50 }, createdAt: 100, runUntil: null } as const;
  expect(endsAt({ ...life, cancelBy: null })).toBe(150);
  expect(endsAt({ ...life, cancelBy: 149 })).toBe(149);
  expect(endsAt({ ...life, cancelBy: 151 })).toBe(150);
  const endless = { ...life, expiry: { from: "created", ms: null } } as const;
  expect(endsAt({ ...endless, cancelBy: null })).toBeNull();
  expect(endsAt({ ...endless, cancelBy: 149 })).toBe(149);
});
