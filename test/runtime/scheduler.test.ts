import { describe, expect, test } from "vitest";
import {
  runTransitions,
  nextRunState,
  Scheduler,
  type Asked,
  type Position,
  type RunEvent,
  type RunState,
} from "../../src/runtime/journal/scheduler.ts";

/** The table once more, by hand: where each event leads from direct, running, draining, doomed and ended. */
const expected: Record<RunEvent, readonly (RunState | undefined)[]> = {
  hold: ["running", undefined, undefined, undefined, undefined],
  drain: [undefined, "draining", undefined, undefined, undefined],
  withhold: [undefined, undefined, "doomed", undefined, undefined],
  block: [undefined, "doomed", "doomed", undefined, undefined],
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

function inState(...happened: RunEvent[]): Scheduler {
  const scheduler = new Scheduler();
  for (const event of happened) scheduler.apply(event);
  return scheduler;
}

describe("what a run may do", () => {
  const asked: readonly Asked[] = ["see", "begin", "try", "report", "write", "wait", "park", "hear", "retry"];
  const [goesOn, stops, rejects] = ["goes on", "stops", "rejects"];

  test.each([
    ["direct", [], [goesOn, goesOn, goesOn, goesOn, goesOn, goesOn, stops, goesOn, rejects]],
    ["running", ["hold"], [goesOn, goesOn, goesOn, goesOn, goesOn, goesOn, goesOn, goesOn, goesOn]],
    ["draining", ["hold", "drain"], [stops, stops, goesOn, goesOn, goesOn, stops, stops, goesOn, goesOn]],
    [
      "doomed",
      ["hold", "drain", "withhold"],
      [stops, stops, goesOn, stops, goesOn, stops, stops, stops, stops],
    ],
    [
      "ended",
      ["hold", "end"],
      [goesOn, rejects, rejects, rejects, goesOn, rejects, rejects, rejects, rejects],
    ],
    ["released", ["hold", "park"], [stops, stops, stops, stops, stops, stops, stops, goesOn, stops]],
    [
      "fenced",
      ["hold", "fence"],
      [goesOn, rejects, rejects, rejects, rejects, rejects, rejects, goesOn, rejects],
    ],
  ] as const)("while it is %s", (state, happened, verdicts) => {
    const scheduler = inState(...happened);
    expect(scheduler.state).toBe(state);
    expect(asked.map((what) => scheduler.verdict(what))).toEqual(verdicts);
  });
});

describe("ends for the handler", () => {
  const end = (version: number, place = 0): Position => ({ version, place });

  function delivered(scheduler: Scheduler): readonly Position[] {
    const ends: Position[] = [];
    for (let next = scheduler.decide(); next.do === "deliver"; next = scheduler.decide()) {
      scheduler.deliver(next.end);
      ends.push(next.end);
    }
    return ends;
  }

  test("are delivered in the order of their commits, and those of one by their places", () => {
    const scheduler = inState("hold");
    for (const each of [end(4, 1), end(2), end(4), end(3)]) scheduler.add(each);
    expect(scheduler.decide()).toEqual({ do: "learn", upTo: 4 });
    scheduler.learned(4);
    expect(delivered(scheduler)).toEqual([end(2), end(3), end(4), end(4, 1)]);
    expect(scheduler.isEmpty).toBe(true);
  });

  test("wait until all that were committed before are known, and give way to one that is found", () => {
    const scheduler = inState("hold");
    const [first, second] = [end(2), end(3)];
    scheduler.add(second);
    expect(scheduler.decide()).toEqual({ do: "learn", upTo: 3 });
    scheduler.learned(3);
    expect(scheduler.decide()).toEqual({ do: "deliver", end: second });
    scheduler.add(first);
    expect(scheduler.deliver(second)).toBe(false);
    expect(delivered(scheduler)).toEqual([first, second]);
  });

  test("are looked for once where others may have ended something", () => {
    const scheduler = inState("hold");
    scheduler.look();
    expect([scheduler.decide(), scheduler.decide()]).toEqual([{ do: "learn", upTo: 0 }, { do: "nothing" }]);
  });

  test("are delivered no more once the task was given back", () => {
    const scheduler = inState("hold");
    const known = end(2);
    scheduler.add(known);
    scheduler.learned(2);
    scheduler.apply("release");
    expect([scheduler.decide(), scheduler.deliver(known)]).toEqual([{ do: "nothing" }, false]);
  });
});
