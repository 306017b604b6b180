import { expect } from "vitest";
import { asksWithoutLimit, type Job } from "./job.ts";
import { keptValues, type LogLine } from "./log.ts";
import type { SeenTask } from "./rpc.ts";
import { failure } from "./tries.ts";

/** Tools that may not be run again once they began something that is not journalled. */
const careful = new Set(["once", "parallel"]);

/** A task's end follows from what was journalled and acknowledged, or says honestly that it failed. */
export function expectHonestEnd(job: Job, lines: readonly LogLine[]): void {
  const task = JSON.parse(job.ended ?? "null") as SeenTask;
  const own = lines.filter((line) => line.task === job.taskId);
  if (task.status === "cancelled") {
    expect(job.toBeCancelled).toBe(true);
    return;
  }
  expect(job.core && job.cancelAcknowledged).not.toBe(true); // there, cancelled is for good
  if (job.tool === "tries" && task.result?.content[0].text === failure) return; // after as many attempts as there may be
  if (task.status === "failed") {
    expect(careful).toContain(job.tool);
    expect(task.error).toMatchObject({
      code: -32603,
      message: expect.stringContaining("not marked as safe"),
    });
    // A step that began was marked before it did, so that its task could be resumed.
    if (job.tool === "parallel") expect(own.filter(({ event }) => event === "run")).toEqual([]);
    return;
  }
  const words = task.result?.content[0].text.split(" ") ?? [];
  if (job.tool === "once" || words.join(" ") === "no steps") return;
  if (task.status === "direct") throw new Error(`a direct answer had steps: ${words.join(" ")}`);
  const kept = keptValues(own, job.taskId ?? "");
  expect(words).toEqual(orderOf(job.tool, kept).map((key) => kept.get(key)));
  if (asksWithoutLimit.has(job.tool) && job.answer !== undefined) expect(kept.get("word")).toBe(job.answer);
}

/** The keys whose values a tool's result is made of, in their order. */
function orderOf(tool: string, kept: ReadonlyMap<string, string>): string[] {
  switch (tool) {
    case "asks":
      return ["before", "word", "after"];
    case "hires":
      return ["hired", "word", "after"];
    case "beside":
      return ["word", ...stepsOf(kept)];
    case "tries":
      return ["before", "tried"];
    case "naps":
      return ["before", "after"];
    case "deadline":
      return ["word", "after"];
    case "race":
      return ["word", `after ${kept.get("word")}`];
    default:
      return stepsOf(kept);
  }
}

function stepsOf(kept: ReadonlyMap<string, string>): string[] {
  const steps = [...kept.keys()].filter((key) => key !== "word");
  return steps.toSorted((a, b) => Number(a.split(" ")[1]) - Number(b.split(" ")[1]));
}
