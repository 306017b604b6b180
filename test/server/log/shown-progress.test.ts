import { expect, it } from "vitest";
import { sentProgress, newestShown, shownProgress } from "../../../src/server/log-messages.ts";
import type { TaskRecord } from "../../../src/task/record.ts";

const line = { seq: 7, level: "info", text: "page 7" } as const;

it("shows what the handler reported, with the newest line where it said nothing itself", () => {
  expect(shownProgress(null, undefined)).toBeUndefined();
  expect(shownProgress(null, line)).toEqual({ progress: 0.007, message: "page 7" });
  expect(shownProgress({ progress: 2, total: 3 }, undefined)).toEqual({ progress: 2, total: 3 });
  expect(shownProgress({ progress: 2, total: 3 }, line)).toEqual({
    progress: 2,
    total: 3,
    message: "page 7",
  });
  expect(shownProgress({ progress: 2, message: "own" }, line)).toEqual({ progress: 2, message: "own" });
  const long = shownProgress(null, { ...line, text: "é".repeat(501) });
  expect(long?.message).toBe(`${"é".repeat(499)}…`);
});

it("shows no lines for debugging", () => {
  const debug = { seq: 8, level: "debug", text: "a detail" } as const;
  expect(newestShown([line, debug])).toEqual(line);
  expect(newestShown([debug])).toBeUndefined();
});

it("knows what clients may have heard before: lines, where the handler had reported nothing", () => {
  const heard = (task: Pick<TaskRecord, "progress" | "logged">): unknown => sentProgress(task as TaskRecord);
  expect(heard({ progress: null, logged: 0 })).toBeUndefined();
  expect(heard({ progress: null, logged: 12 })).toBe(0.012);
  expect(heard({ progress: { progress: 0 }, logged: 12 })).toBeUndefined();
});
