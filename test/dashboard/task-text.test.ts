import { expect, it } from "vitest";
import { taskText } from "../../dashboard/src/parts/task-text.ts";

const task = { error: null, statusMessage: null, progress: null, finishedAt: null };
const progress = { progress: 3, total: 9, message: "page 3" };

it("is the error, or the status text, or that of progress", () => {
  expect(taskText({ ...task, error: "no paper", statusMessage: "Attempt 2 of 2 failed: no paper" })).toBe(
    "no paper",
  );
  expect(taskText({ ...task, statusMessage: "printing", progress })).toBe("printing");
  expect(taskText({ ...task, progress })).toBe("page 3");
  expect(taskText(task)).toBe("");
});

it("leaves out the text of progress once the task has ended", () => {
  expect(taskText({ ...task, progress, finishedAt: 5 })).toBe("");
});
