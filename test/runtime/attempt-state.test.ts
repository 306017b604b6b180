import { describe, expect, test } from "vitest";
import {
  attemptTransitions,
  nextAttemptState,
  type AttemptEvent,
  type AttemptState,
} from "../../src/runtime/attempt/attempt-state.ts";

/** The table once more, by hand: where each event leads from running, draining and ended. */
const expected: Record<AttemptEvent, readonly (AttemptState | undefined)[]> = {
  drain: ["draining", undefined, undefined],
  end: ["ended", "ended", undefined],
  release: ["released", "released", "released"],
  fence: ["fenced", "fenced", "fenced"],
};
const events = Object.keys(attemptTransitions) as AttemptEvent[];

describe("the states of an attempt", () => {
  test.each(events)("%s leads where it should", (event) => {
    const states = ["running", "draining", "ended"] as const;
    expect(states.map((state) => nextAttemptState(state, event))).toEqual(expected[event]);
  });

  test.each(events)("%s changes nothing of what was released or fenced", (event) => {
    for (const state of ["released", "fenced"] as const) {
      expect(nextAttemptState(state, event)).toBeUndefined();
    }
  });
});
