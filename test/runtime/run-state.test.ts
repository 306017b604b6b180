import { describe, expect, test } from "vitest";
import {
  runTransitions,
  nextRunState,
  type RunEvent,
  type RunState,
} from "../../src/runtime/journal/scheduler.ts";

/** The table once more, by hand: where each event leads from direct, running, draining, doomed and ended. */
const expected: Record<RunEvent, readonly (RunState | undefined)[]> = {
  hold: ["running", undefined, undefined, undefined, undefined],
  drain: [undefined, "draining", undefined, undefined, undefined],
  withhold: [undefined, undefined, "doomed", undefined, undefined],
  end: ["ended", "ended", "ended", undefined, undefined],
  park: [undefined, "released", undefined, undefined, undefined],
  release: [undefined, "released", "released", "released", "released"],
  fence: ["fenced", "fenced", "fenced", "fenced", "fenced"],
};
const events = Object.keys(runTransitions) as RunEvent[];

describe("the states of a run", () => {
  test.each(events)("%s leads where it should", (event) => {
    const states = ["direct", "running", "draining", "doomed", "ended"] as const;
    expect(states.map((state) => nextRunState(state, event))).toEqual(expected[event]);
  });

  test.each(events)("%s changes nothing of what was released or fenced", (event) => {
    for (const state of ["released", "fenced"] as const) {
      expect(nextRunState(state, event)).toBeUndefined();
    }
  });
});
